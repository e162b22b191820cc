"""What a rule needs to find anything at all, in names that a script has to use: nothing else has to be run for it."""

from __future__ import annotations

from dataclasses import dataclass

# What tells in which mode a script runs: for TensorFlow 1, without graphs, for TPUs, for Keras 2, in what precision, on
# which backend and devices. Wherever it stands, it is run with what has work for a rule.
MODES = (
    "disable_eager_execution", "disable_v2_behavior", "enable_eager_execution", "placeholder", "get_session",
    "Session", "InteractiveSession", "ConfigProto", "global_variables_initializer", "get_variable",
    "initialize_all_variables", "reset_default_graph", "Saver", ".gradients",
    "run_functions_eagerly", "experimental_run_functions_eagerly", "run_eagerly",
    "TPUStrategy", "TPUClusterResolver", "initialize_tpu_system", "keras_to_tpu_model",
    "fit_generator", "evaluate_generator", "predict_generator", "lr=", "decay=", "ImageDataGenerator", "Tokenizer",
    "TimeseriesGenerator", "np_utils",
    "mixed_precision", "set_global_policy", "set_policy", "set_dtype_policy", "set_floatx", "DTypePolicy",
    "enable_mixed_precision", "set_experimental_options",
    "environ", "putenv", "set_backend", "set_visible_devices", "list_devices", "jax", "torch",
)  # fmt: skip

FIT = (".fit", ".fit_generator", ".train_on_batch")
# What makes gigabytes of numbers that the script names: one of 64 or more, a power, a product of numbers; or a library
# that knows how much it gives. Four axes of 63 and a fifth of 3 are 378 MB in float64.
LARGE = (
    "64+", "load_data", "datasets", "tensorflow_datasets", "sklearn", "applications", "load_model", "from_preset",
    "image_dataset_from_directory", "audio_dataset_from_directory", "text_dataset_from_directory",
    "ImageDataGenerator", "flow_from_directory", "flow_from_dataframe", "gym", "gymnasium", "hub",
)  # fmt: skip

# What a layer keeps has more axes, and more factors: samples, steps, gates.
LARGE_IN_LAYERS = ("16+", *LARGE)
# What gives numbers of NumPy that nobody asked to be of 32 bits.
NUMPY = (
    "numpy", "load_data", "to_categorical", "flow", "pandas", "sklearn", "scipy", "h5py", "cv2", "PIL", "skimage",
    "datasets", "tensorflow_datasets", "torch", "jax", "gym", "gymnasium",
)  # fmt: skip
# What reads arrays, pictures, sounds, volumes and texts from files.
READS = (
    "open", "read", "read_text", "load", "loads", "imread", "imdecode", "load_img", "img_to_array", "VideoCapture",
    "fromfile", "genfromtxt", "loadtxt", "loadmat", "read_csv", "read_table", "read_parquet", "read_feather",
    "read_pickle", "read_hdf", "read_json", "read_sql", "read_excel", "dcmread", "read_file", "ReadImage",
    "GetArrayFromImage", "GetArrayViewFromImage", "File", "open_group", "open_array", "load_data", "get_fdata",
    "decode_image", "decode_jpeg", "decode_png", "decode_bmp", "decode_gif", "decode_webp", "decode_and_crop_jpeg",
    "decode_wav", "retrieve", "ImageFile", "read_bytes", "readlines", "gfile", "GFile", "DataFrame", "fetch_openml",
)  # fmt: skip

# How a source of batches is read ahead.
WORKERS = (
    "workers", "use_multiprocessing", "max_queue_size", "nb_worker", "pickle_safe", "max_q_size", "fit_generator",
    "evaluate_generator", "predict_generator", "Sequence", "PyDataset", "yield",
)  # fmt: skip
# What computes tensors when it is called, or shows that something does.
COMPUTES = (
    "GradientTape", "Sequential", "Model", "load_model", "applications", "layers", "losses", "metrics", "models",
    "Layer", "Loss", "Metric", "model_from_json", "clone_model", "from_pretrained", "from_preset", "KerasLayer",
    "objectives",
    "trainable_variables", "trainable_weights", "get_layer", "compile", *FIT, ".predict", ".evaluate", ".minimize",
    ".apply_gradients", ".gradient", ".gradients", ".save_weights", ".load_weights", ".summary", ".get_weights",
    ".set_weights", ".train_step", ".test_step", ".layers", ".count_params", ".compute_loss", ".update_state",
)  # fmt: skip
# What a loop goes over whose rounds are counted, or that trains.
COUNTED = (
    "while", "range", "trange", "xrange", "arange", "linspace", "array", "asarray", "zeros", "ones", "full", "eye",
    "repeat", "tile", "count", "islice", "product", "permutations", "combinations", "cycle", "[..]", "[]*",
    "GradientTape", ".gradient", ".gradients", ".apply_gradients", ".apply", ".minimize", "compute_gradients",
)  # fmt: skip

# What makes arrays and tensors of a size that the script names.
MAKES = (
    "zeros", "ones", "empty", "ndarray", "full", "fill", "eye", "identity", "linspace", "arange", "rand", "randn",
    "random", "uniform", "normal", "truncated_normal", "standard_normal", "randint", "integers", "memmap",
    "random_sample", "choice", "tile", "repeat", "broadcast_to", "meshgrid", "permutation", "make_blobs",
    "make_classification", "make_regression", "make_moons", "indices", "tri", "diag", "zeros_like", "ones_like",
)  # fmt: skip

# A model that is trained: compiled for it, or by a tape.
TRAINED = (".compile", "GradientTape", ".gradient")
# How much of it is frozen, or computed again, shows anywhere.
TRAINING = (*MODES, ".trainable", "recompute_grad", "RematScope", "remat")
LOOPS = ("for",)
# Methods of a callback, which Keras calls round after round.
HOOKS = (
    "on_epoch_begin", "on_epoch_end", "on_batch_begin", "on_batch_end", "on_train_batch_begin", "on_train_batch_end",
    "on_test_batch_begin", "on_test_batch_end", "on_predict_batch_begin", "on_predict_batch_end",
)  # fmt: skip
# By these a program draws from what it remembers.
DRAWS = (
    "deque", "sample", "choice", "choices", "randint", "randrange", "permutation", "integers",
    "OutOfGraphReplayBuffer", "WrappedReplayBuffer",
)  # fmt: skip
# Without them nothing runs in TensorFlow 1.
SESSIONS = (
    "Session", "InteractiveSession", "get_session", "MonitoredTrainingSession", "MonitoredSession",
    "SingularMonitoredSession", "get_default_session", "managed_session", "eval", "backend", "K",
)  # fmt: skip
# What runs a function again and again: searches, pools.
ASKED = (".predict", ".predict_on_batch", ".evaluate", ".predict_classes", ".predict_proba")  # by requests
TRIALS = (
    "search", "cross_val_score", "cross_validate", "cross_val_predict", "GridSearchCV", "RandomizedSearchCV",
    "HalvingGridSearchCV", "HalvingRandomSearchCV", "BayesSearchCV", "optimize", "minimize", "fmin", "Parallel",
    "map", "imap", "imap_unordered", "starmap", "run", "maximize", "evaluate", "gp_minimize", "forest_minimize",
    "learning_curve", "validation_curve", "BaggingClassifier", "BaggingRegressor", "AdaBoostClassifier",
    "AdaBoostRegressor", "Objective", "delayed", "remote", "Scan", "Pool",
)  # fmt: skip
STRATEGIES = (
    "MirroredStrategy", "MultiWorkerMirroredStrategy", "CollectiveAllReduceStrategy", "TPUStrategy",
    "CentralStorageStrategy", "OneDeviceStrategy", "ParameterServerStrategy",
)  # fmt: skip
GRADIENTS = (
    "GradientTape", "gradient", "gradients", "compute_gradients", "get_gradients", "minimize", "grad", "value_and_grad",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Needs:
    """What must be there besides a rule's literals.

    `also`: of each of these groups one name has to be used by what a part of the script leads to. It may be written as
    an attribute or imported name (`.fit`), a keyword (`jit_compile=`) or a text (`'CUDA_VISIBLE_DEVICES'`). `for` is a
    loop or comprehension, `loop` a loop alone, `while` such a loop, `[f()]` a list of calls, `[..]` one of many items,
    `[]*` a repeated one, `yield` a generator, `except` a handler, `[]=` and `+=` are what they are in Python, `.[]=` is
    an item of an attribute that is set, `64+` and `16+` are numbers.
    `here`: groups that functions which nobody calls have to meet in their own module: what they lead to in others is
    looked at there.
    `in_layers`: it finds something in the methods of layers, too.
    `in_scripts`: it finds nothing in functions that nobody calls.
    `in_tests`: it finds something in tests, too.
    `here`: groups that functions which nobody calls have to meet in their own module: what they lead to in others is
    looked at there.
    `in_layers`: it finds something in the methods of layers, too.
    `beside`: names by which other functions show that they matter: None for all of the script's, as far as is known.
    """

    also: tuple[tuple[str, ...], ...] = ()
    in_scripts: bool = False
    in_tests: bool = True
    here: tuple[tuple[str, ...], ...] = ()
    in_layers: bool = True
    beside: tuple[str, ...] | None = None


ANY = Needs()
