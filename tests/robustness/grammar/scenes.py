"""A scene for each rule: what a script with its mistake may look like, with holes where scripts differ.

Whether the rule speaks depends on what fills the holes; a scene only makes it likely.
"""

from __future__ import annotations

_PICTURES = "def $read(path):\n    image = tf.io.decode_jpeg(tf.io.read_file(path), channels=3)\n    return tf.image.resize(image, ({side}, {side}))\n\n\n"
_SMALL = "$model = keras.Sequential([keras.Input((8,)), keras.layers.Dense({n}, activation={activation}), keras.layers.Dense(1)])\n"
_STEP = "$optimizer = keras.optimizers.SGD({float})\nmse = keras.losses.MeanSquaredError()\n$data = tf.data.Dataset.from_tensor_slices((tf.zeros((64, 8)), tf.zeros((64, 1)))).batch({small})\n"
_TAPE = "    with tf.GradientTape() as $tape:\n        $loss = mse($y, $model($x, training=True))\n    $grads = $tape.gradient($loss, $model.trainable_variables)\n"
_APPLY = "$optimizer.apply_gradients(zip($grads, $model.trainable_variables))"
_STRATEGY = "$strategy = tf.distribute.MirroredStrategy()\n"

SCENES: dict[str, str] = {
    "OOM101": "import jax\n{build}\n{compile}\n{fit}",
    "OOM102": "{build}\n$optimizer = {optimizer}\nfor gpu in tf.config.list_physical_devices('GPU'):\n    tf.config.experimental.set_memory_growth(gpu, True)",
    "OOM103": "gpus = tf.config.list_physical_devices('GPU')\ntf.config.experimental.set_memory_growth(gpus[0], True)\n{build}",
    "OOM104": "{device}\ngpus = tf.config.list_physical_devices('GPU')\nfor gpu in gpus:\n    tf.config.experimental.set_memory_growth(gpu, True)\ntf.config.set_logical_device_configuration(gpus[0], [tf.config.LogicalDeviceConfiguration(memory_limit={n} * 64)])",
    "OOM105": "def make(units={n}):\n    $model = keras.Sequential([{layer}, keras.layers.Dense(units)])\n    {compile}\n    return $model\n\n\nsearch = GridSearchCV(KerasClassifier(make), {'model__units': [{n}, {n}]}, n_jobs=-1)\nsearch.fit({array}, {array})",
    "OOM106": "import jax\nimport optax\n\n$optimizer = optax.adam({float})\n$grads = jax.grad(lambda w, x: ((x @ w) ** 2).mean())\n$data = tf.data.Dataset.from_tensor_slices([[1.0, 2.0]]).batch({small})",
    "OOM201": "$x = np.load({path})\n$y = np.load('y.npy')\n"
    + _SMALL
    + "{compile}\n$model.fit($x, $y, batch_size={n})",
    "OOM202": "$kept = []\nfor name in os.listdir('train'):\n    $kept.append(cv2.resize(cv2.imread(os.path.join('train', name)), ({side}, {side})))\n$x = np.array($kept)\n$model.fit($x, $y)",
    "OOM203": "$x = np.empty((0, 128))\nfor path in glob.glob('parts/*.npy'):\n    part = np.load(path)\n    $x = np.concatenate(($x, part))\n{build}",
    "OOM204": "$x = np.zeros(({n} * 100, {side}, {side}, 3))\n$model.fit($x, $y)",
    "OOM205": "$x = np.load('windows.npy')\nwords = np.load('next.npy')\n$y = keras.utils.to_categorical(words, num_classes=20_000)\n$model = keras.Sequential([{layer}, keras.layers.Dense(20_000, activation='softmax')])\n$model.compile({optimizer}, loss='categorical_crossentropy')\n$model.fit($x, $y)",
    "OOM206": "table = pd.read_csv('reviews.csv')\n$x = TfidfVectorizer().fit_transform(table['text']).toarray()\n$model = keras.Sequential([keras.layers.Dense({n}), keras.layers.Dense(1)])\n{compile}\n$model.fit($x, table['stars'])",
    "OOM207": "memory = collections.deque(maxlen={big})\n\n\ndef remember(frame, action):\n    state = np.zeros((84, 84, {small}))\n    state[:] = frame\n    memory.append((state, action))\n\n\n{build}",
    "OOM208": "$x = np.load('x.npy')\ngenerator = keras.preprocessing.image.ImageDataGenerator(rotation_range={small}, horizontal_flip=True)\ngenerator.fit($x)",
    "OOM209": "class Clips(keras.utils.PyDataset):\n    def __len__(self):\n        return {n}\n\n    def __getitem__(self, index):\n        return np.zeros(({n}, {n}, {side}, {side}, 3), 'float32'), np.zeros(({n},), 'float32')\n\n\n$data = Clips(workers={small}, max_queue_size={n})\n{build}\n{compile}\n$model.fit($data)",
    "OOM210": "base = keras.applications.ResNet50(include_top=False, weights=None, input_shape=(224, 224, 3))\n$kept = []\nfor $i in range({n} * 20):\n    $kept.append(base.predict_on_batch(np.zeros((32, 224, 224, 3), 'float32')))\n$x = np.concatenate($kept)",
    "OOM301": _PICTURES
    + "$data = tf.data.Dataset.list_files('train/*.jpg').map($read).shuffle({big}).batch({n})",
    "OOM302": _PICTURES
    + "$data = tf.data.Dataset.range({big}).map(lambda i: $read(tf.strings.format('{}.jpg', i))).cache().batch({n})",
    "OOM303": _PICTURES
    + "$data = tf.data.Dataset.list_files('train/*.jpg').map($read).batch({n}).prefetch(100)",
    "OOM304": "$x = np.memmap('images.f32', dtype='float32', mode='r', shape=(20_000, {side}, {side}, 3))\n$data = tf.data.Dataset.from_tensor_slices($x).batch({n})",
    "OOM305": "$x = np.zeros((500_000, 4096), dtype='float32')\n$y = np.zeros((500_000,), dtype='float32')\n"
    + _SMALL
    + "{compile}\n$model.fit($x, $y, batch_size={n})",
    "OOM306": "$data = keras.utils.image_dataset_from_directory('train', image_size=({side}, {side}))\n$data = $data.shuffle({n}).batch({n}){stages}",
    "OOM307": "($x, $y), (x_test, y_test) = keras.datasets.cifar10.load_data()\n$model = keras.Sequential([keras.layers.Conv2D({n}, 3), keras.layers.GlobalAveragePooling2D(), keras.layers.Dense(10)])\n{compile}\n$model.fit($x, $y)\nlogits = $model(x_test)",
    "OOM308": "scans = np.load('scans.npy', mmap_mode='r').reshape(1200, 512, 512, 1)\n$inputs = keras.Input((512, 512, 1))\n$h = keras.layers.Conv2D(8, 3, padding='same', activation={activation})($inputs)\n$model = keras.Model($inputs, $h)\n$y = $model.predict(scans, batch_size={small}).argmax(axis=-1)",
    "OOM309": _PICTURES + "$x = np.array(list(tf.data.Dataset.list_files('train/*.jpg').map($read)))",
    "OOM310": "$data = tf.data.TextLineDataset('corpus.txt').map(tf.strings.split)\n$data = $data.padded_batch({n})",
    "OOM311": "def $read(path):\n    image = tf.io.decode_jpeg(tf.io.read_file(path), channels=3)\n    image = tf.image.resize(image, ({side}, {side}))\n    image = tf.image.convert_image_dtype(image, tf.float32)\n    return image\n\n\n$data = tf.data.Dataset.list_files('train/*.jpg').map($read).batch({n})",
    "OOM401": _SMALL
    + _STEP
    + "for $x, $y in $data:\n"
    + _TAPE
    + "    $grads = [v / {small} for v in $grads]\n    "
    + _APPLY,
    "OOM402": _SMALL
    + _STEP
    + "$sums = [tf.zeros_like(v) for v in $model.trainable_variables]\nfor $i, ($x, $y) in enumerate($data):\n"
    + _TAPE
    + "    $sums = [a + b for a, b in zip($sums, $grads)]\n    if ($i + 1) % {small} == 0:\n        $optimizer.apply_gradients(zip($sums, $model.trainable_variables))\n        $sums = [tf.zeros_like(v) for v in $model.trainable_variables]",
    "OOM403": "$model = keras.Sequential([keras.Input((256, 256, 3)), keras.layers.Conv2D({n}, 3)])\n$data = keras.utils.image_dataset_from_directory('photos', labels=None, batch_size={n})\n$kept = []\nfor $x in $data:\n    $kept.append($model($x, training=False))",
    "OOM404": "$model = keras.applications.ResNet50(weights=None, classes=10)\n$optimizer = keras.optimizers.Adam({float})\ncross = keras.losses.SparseCategoricalCrossentropy()\n$data = keras.utils.image_dataset_from_directory('food', image_size=(224, 224), batch_size={n})\n{tape_around}",
    "OOM405": _SMALL
    + "$x = tf.random.normal(({n}, 8))\nwith tf.GradientTape(persistent=True) as $tape:\n    $loss = tf.reduce_mean($model($x))\n$grads = $tape.gradient($loss, $model.trainable_variables)",
    "OOM406": "$x, $y = np.load('x.npy'), np.load('y.npy')\nfor $i in range({n}):\n    $model = keras.Sequential([keras.Input((64,)), {layer}, keras.layers.Dense(1)])\n    {compile}\n    $model.fit($x[$i::10], $y[$i::10], epochs={small})",
    "OOM407": "@tf.function\ndef $step($x, $i):\n    return tf.reduce_sum($x) / tf.cast($i + 1, tf.float32)\n\n\nfor $i in range({big}):\n    $step(tf.random.normal(({n}, 8)), $i)",
    "OOM408": _SMALL
    + _STEP
    + "for epoch in range({n}):\n\n    @tf.function\n    def $step($x, $y):\n    "
    + _TAPE.replace("\n    ", "\n        ").rstrip(" ")
    + "        "
    + _APPLY
    + "\n\n    for $x, $y in $data:\n        $step($x, $y)",
    "OOM409": "cell = keras.layers.GRUCell({n})\n\n\n@tf.function\ndef $step(state):\n    for $i in range({n} * 10):\n        state, _ = cell(state, [state])\n    return state\n\n\n$step(tf.zeros((32, {n})))",
    "OOM410": "import tensorflow.compat.v1 as tf1\n\ntf1.disable_v2_behavior()\n$x = tf1.placeholder(tf1.float32, [None, 8])\nlogits = tf1.layers.dense($x, 10)\nwith tf1.Session() as sess:\n    sess.run(tf1.global_variables_initializer())\n    for $i in range({big}):\n        $y = sess.run(tf1.argmax(logits, 1), {$x: np.random.rand(32, 8)})",
    "OOM411": "$model = keras.models.load_model('classifier.keras')\n$kept = []\nfor $x in np.load('images.npy', mmap_mode='r'):\n    $kept.append($model.predict(np.expand_dims($x, 0)).argmax())",
    "OOM412": "$model = keras.applications.ResNet50(weights=None, classes=10)\n{compile}\n$data = keras.utils.image_dataset_from_directory('food', image_size=(224, 224), batch_size=None)\n\n\n{retry}",
    "OOM413": "class Batches(keras.utils.PyDataset):\n    def __init__(self, x, y):\n        super().__init__()\n        self.x, self.y = x, y\n\n    def __len__(self):\n        return len(self.x) // 32\n\n    def __getitem__(self, k):\n        return self.x[k * 32 : k * 32 + 32], self.y[k * 32 : k * 32 + 32]\n\n\n$model = keras.models.load_model('model.keras')\nfor $i in range({n}):\n    $x, $y = np.zeros((20_000, 64, 64), 'float32'), np.zeros((20_000,))\n    $model.fit(Batches($x, $y))",
    "OOM414": "$model = keras.applications.VGG16(weights=None, classes=10)\n{compile}\n$data = keras.utils.image_dataset_from_directory('photos', image_size=(224, 224))\n$model.fit($data, epochs={n}, callbacks=[keras.callbacks.TensorBoard('logs', histogram_freq=1), {callback}])",
    "OOM501": _STRATEGY
    + "with $strategy.scope():\n    $model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(1)])\n    $model.compile('adam', 'mse')\n$model.fit(tf.zeros((4096, 8)), tf.zeros((4096, 1)), batch_size={n})",
    "OOM502": _STRATEGY
    + "with $strategy.scope():\n    $model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])\n    $optimizer = keras.optimizers.SGD({float})\n\n\ndef $step($x, $y):\n    with tf.GradientTape() as $tape:\n        $loss = tf.reduce_mean(tf.square($y - $model($x)))\n    $grads = $tape.gradient($loss, $model.trainable_variables)\n    "
    + _APPLY
    + "\n\n\n$data = tf.data.Dataset.from_tensor_slices((tf.zeros((64, 4)), tf.zeros((64, 1)))).batch({n})\nfor $x, $y in $strategy.experimental_distribute_dataset($data):\n    $strategy.run($step, args=($x, $y))",
    "OOM503": _STRATEGY
    + "$model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(1)])\nwith $strategy.scope():\n    {compile}\n$model.fit(tf.zeros((64, 8)), tf.zeros((64, 1)))",
    "OOM504": _STRATEGY
    + "$data = tf.data.Dataset.from_tensor_slices(tf.zeros((64, 4))).batch({n})\nwith $strategy.scope():\n    $model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])\n\nfor $x in $data:\n    $strategy.run($model, args=($x,))",
    "OOM505": "$model = {ready}\n$model = keras.utils.multi_gpu_model($model, gpus={small})\n{compile}",
    "OOM506": _STRATEGY
    + "with $strategy.scope():\n    first = keras.applications.ResNet50(weights=None)\n    second = keras.applications.VGG16(weights=None)\n    first.compile({optimizer}, 'categorical_crossentropy')\n    second.compile('adam', 'categorical_crossentropy')",
    "OOM507": _STRATEGY
    + "with $strategy.scope():\n    $model = keras.applications.ResNet50(weights=None, classes=10)\n    $model.compile(optimizer={optimizer}, loss='sparse_categorical_crossentropy', jit_compile=True)",
    "OOM601": "$model = keras.applications.MobileNet(weights=None)\n$model.compile('adam', 'sparse_categorical_crossentropy')\n$model.fit(np.load('photos.npy'), np.load('kinds.npy'), batch_size=1024)",
    "OOM602": "$model = keras.Sequential([\n    keras.Input((512, 512, 3)),\n    keras.layers.Conv2D({n}, 3, padding='same', activation={activation}),\n    keras.layers.MaxPooling2D(),\n    keras.layers.Flatten(),\n    keras.layers.Dense(1024, activation='relu'),\n    {layer},\n])\n{compile}",
    "OOM603": "tokens = keras.Input((4096,), dtype='int32')\n$h = keras.layers.Embedding(30_000, 512)(tokens)\nfor _ in range({small}):\n    $h = $h + keras.layers.MultiHeadAttention(num_heads=8, key_dim=64)($h, $h)\n$model = keras.Model(tokens, keras.layers.Dense(2)($h[:, 0]))\n{compile}\n$model.fit(load_tokens(), load_labels(), batch_size=16)",
    "OOM604": "$model = keras.Sequential([keras.Input((200,), dtype='int32'), keras.layers.Embedding(1_500_000, 300), keras.layers.GlobalAveragePooling1D(), {layer}])\n{compile}\n$model.fit(load_tokens(), load_labels())",
    "OOM605": "words = keras.Input(({side},), dtype='int32')\n$h = keras.layers.Embedding(50_000, 128)(words)\n$h = keras.layers.GRU({n}, return_sequences=True)($h)\n$model = keras.Model(words, keras.layers.Dense(50_000, activation='softmax')($h))\n$model.compile({optimizer}, 'categorical_crossentropy')\n$model.fit(load_words(), load_next_words(), batch_size=64)",
    "OOM606": "$model = keras.Sequential([keras.Input((5000, 12)), keras.layers.LSTM(256, return_sequences=True, recurrent_dropout=0.2), keras.layers.LSTM(256, recurrent_dropout={float}), keras.layers.Dense({n})])\n{compile}\n$model.fit(load_signals(), load_targets(), batch_size=64)",
    "OOM607": "$inputs = keras.Input((256, 256, 256, 1))\n$h = $inputs\nfor _ in range({small}):\n    $h = keras.layers.Conv3D({n}, 3, padding='same', activation={activation})($h)\n$model = keras.Model($inputs, keras.layers.Conv3D(1, 1)($h))\n{compile}\n$model.fit(load_volumes(), load_masks(), batch_size={small})",
    "OOM901": "$model = keras.applications.ResNet50(weights=None, input_shape=(224, 224, 3), classes=1000)\n$model.compile({optimizer}, 'sparse_categorical_crossentropy')\n$model.fit(load_pictures(), load_labels(), batch_size={n})",
    "OOM902": "$inputs = keras.Input((512, 512, 3))\n$h = $inputs\nfor _ in range(12):\n    $h = keras.layers.Conv2D({n}, 3, padding='same', activation='gelu')($h)\n$model = keras.Model($inputs, keras.layers.Conv2D(3, 1)($h))\n{compile}\n$model.fit(load_pictures(), load_targets(), batch_size={small})",
}
