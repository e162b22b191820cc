"""What calls mean for a slice: which read data, which only report, which change what they are called on."""

from __future__ import annotations

import re

# Calls whose result is data, or comes from outside: canonical names (`?` where the receiver is no plain name).
DATA_CALLS = re.compile(
    r"""numpy\.(load|loadtxt|genfromtxt|fromfile|memmap|fromtxt|recfromcsv)
    |pandas\.(read_\w+|concat|merge|get_dummies)
    |(os\.(listdir|walk|scandir|system|popen|stat)|os\.path\.(getsize|getmtime))
    |glob\.i?glob|glob
    |.*\bdatasets?\.[\w.]*(load_data|fetch_\w+|load_\w+|get_data)
    |tensorflow_datasets\.\w+
    |.*\b(get_file|image_dataset_from_directory|text_dataset_from_directory|audio_dataset_from_directory)
    |.*\.(load_data|flow|flow_from_directory|flow_from_dataframe|load_img|img_to_array|next_batch|read_csv)
    |(tensorflow|tf)\.(data|io)\.(?!gfile\.(GFile|exists|join|isdir)).*
    |scipy\.io\.\w+|h5py\.File|cv2\.\w+|skimage\..*|PIL\..*|imageio\.\w+|nibabel\.\w+|librosa\..*|soundfile\.\w+
    |pickle\.load|joblib\.load|_pickle\.load|cPickle\.load|dill\.load|input|raw_input
    |(requests|urllib|urllib2|wget|gdown|boto3|kaggle|subprocess|zipfile|tarfile|shutil|sqlite3|psycopg2)\..*
    |sklearn\.(datasets|model_selection|preprocessing|decomposition|feature_extraction)\..*|train_test_split
    |.*\.(fit_transform|transform|texts_to_sequences|fit_on_texts|cardinality)
    |nltk\..*|spacy\.load|gensim\..*|yfinance\..*|pandas_datareader\..*
    |load_data|read_data|get_data|load_dataset|get_dataset|load_datasets|prepare_data|make_dataset|create_dataset""",
    re.VERBOSE,
)

# The type of floats that Keras makes of those in an array: its `floatx`.
FLOATX = "floatx"
# That of data of which only the shape is known.
UNTOLD = "untold"

# Keras is TensorFlow's in a script that says so; else `keras` may be the package by itself, of any age.
TF_KERAS = re.compile(r"\b(tensorflow|tf)\.keras\b")

# Attributes that are known only after something has seen the data.
DATA_ATTRIBUTES = frozenset(
    """word_index index_word word_counts class_indices classes_ categories_ n_features_in_ vocabulary_ n_words
    class_names samples vocabulary_size get_vocabulary num_samples""".split()
)

# Methods that report, save, load weights, train or read; as a statement they change nothing that a model is made of.
INERT_METHODS = frozenset(
    """fit fit_generator evaluate evaluate_generator predict predict_generator predict_on_batch train_on_batch
    test_on_batch summary save save_weights load_weights to_json to_yaml print info debug warning error warn plot
    plot_model savefig show imshow close write writelines flush seek log log_artifact adapt fit_on_texts
    set_weights reset_states figure subplot title xlabel ylabel legend tight_layout hist scatter makedirs mkdir
    remove rmtree copy2 copyfile move system seed set_seed random_seed extractall download set_random_seed
    sleep exit quit start join terminate filterwarnings simplefilter set_verbosity setLevel basicConfig
    addHandler watch finish login init_logger gradient apply_gradients clear_session test assert_allclose
    update_state reset_state track parse_known_args show_batch head describe""".split()
)

# Changing their receiver, where it is a program's own helper that does it to a parameter.
MUTATING_METHODS = frozenset(
    """add append extend insert update setdefault compile build pop add_loss add_metric add_weight
    add_argument set_defaults""".split()
)

# Keras' own: a model says what it takes, a layer what it adds to the loss, a Sequential model what it is made of.
SELF_OF_KERAS = ("self.build", "self.add_loss", "self.add")

# Calls that act on the library as a whole: they hold for every model that is made after them.
GLOBAL_CALLS = re.compile(
    r".*\b(set_global_policy|set_policy|set_dtype_policy|set_floatx|set_image_data_format|set_image_dim_ordering"
    r"|set_jit|enable_mixed_precision_graph_rewrite|run_functions_eagerly|set_learning_phase"
    r"|enable_op_determinism|set_backend|register_keras_serializable|wandb\.init"
    r"|_set_inputs)"
    r"|(\w+\.)*DEFINE_\w+"
)

# What builds: a function in which one of these is called makes a part of a model.
BUILDING = re.compile(
    r".*\b(Sequential|Model|Input|InputLayer|Dense|Conv[123]D\w*|Convolution[123]D|LSTM|GRU|Embedding|Flatten"
    r"|Dropout|BatchNormalization|Activation|Concatenate|MaxPooling[123]D|compile|model_from_json|load_model"
    r"|clone_model|GlobalAveragePooling[123]D|KerasLayer|Bidirectional|TimeDistributed)"
    r"|.*\b(layers|applications|optimizers|losses|regularizers|initializers|metrics|strategy|distribute"
    r"|mixed_precision|backend|activations|constraints)\.\w+(\.\w+)*"
)


_MADE = re.compile(r"(?:\w+_)?(?:model|net|network)\d*")


def is_model(name: str) -> bool:
    """Whether a name is of what is to be made."""
    return _MADE.fullmatch(name.lower()) is not None
