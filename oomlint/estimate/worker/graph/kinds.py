"""What TensorFlow's kernels do with buffers, by operation.

Aliases hand on a buffer, as do references to temporary variables; forwarders write into an input that nobody else
needs (`forward_input_or_allocate_output` in tensorflow/core/kernels and cwise_ops_common.h); all others allocate.
"""

from __future__ import annotations

ALIASES = frozenset(
    """
    Identity IdentityN Reshape Squeeze ExpandDims StopGradient PreventGradient Snapshot EnsureShape Bitcast
    CheckNumerics CheckNumericsV2 PlaceholderWithDefault _Retval _Arg Enter Exit NextIteration Switch Merge
    Assign AssignAdd DestroyTemporaryVariable
    """.split()
)

# Element by element, one input of the output's shape: core/kernels/cwise_ops.h and the activations' own kernels.
FORWARDING = frozenset(
    """
    Abs Acos Acosh Add AddN AddV2 Asin Asinh Atan Atan2 Atanh BiasAdd BiasAddV1 BitwiseAnd BitwiseOr Ceil ClipByValue
    Cos Cosh Digamma Div DivNoNan Elu EluGrad Erf Erfc Erfinv Exp Expm1 Floor FloorDiv FloorMod Inv InvGrad
    LeakyRelu LeakyReluGrad Lgamma Log Log1p LogSoftmax LogicalAnd LogicalNot LogicalOr MatrixBandPart Maximum
    Minimum Mod Mul MulNoNan Ndtri Neg Pow RealDiv Reciprocal ReciprocalGrad Relu Relu6 Relu6Grad ReluGrad Rint
    Round Rsqrt RsqrtGrad Select SelectV2 Selu SeluGrad Sigmoid SigmoidGrad Sign Sin Sinh Softmax Softplus
    SoftplusGrad Softsign SoftsignGrad Sqrt SqrtGrad Square SquaredDifference Sub Tan Tanh TanhGrad Xdivy Xlog1py
    Xlogy ZerosLike OnesLike FusedBatchNorm FusedBatchNormV2 FusedBatchNormV3 _UnaryOpsComposition Fusion
    ScatterNdNonAliasingAdd TensorScatterUpdate TensorScatterAdd InplaceUpdate
    """.split()
)

# Those that write another of their outputs over an input: (output, input), core/kernels/xent_op.cc, sparse_xent_op.cc.
OVER = {"SoftmaxCrossEntropyWithLogits": (1, 0), "SparseSoftmaxCrossEntropyWithLogits": (1, 0)}

LOOPS = ("While", "StatelessWhile")
READS = frozenset({"ReadVariableOp"})
# These put a new buffer in the variable's place.
ASSIGNS = frozenset({"AssignVariableOp"})
# These change the variable's own.
UPDATES = frozenset(
    """
    AssignAddVariableOp AssignSubVariableOp ResourceApplyAdaMax ResourceApplyAdadelta ResourceApplyAdagrad
    ResourceApplyAdagradDA ResourceApplyAdagradV2 ResourceApplyAdam ResourceApplyAdamWithAmsgrad ResourceApplyAddSign
    ResourceApplyCenteredRMSProp ResourceApplyFtrl ResourceApplyFtrlV2 ResourceApplyGradientDescent
    ResourceApplyKerasMomentum ResourceApplyMomentum ResourceApplyPowerSign ResourceApplyProximalAdagrad
    ResourceApplyProximalGradientDescent ResourceApplyRMSProp
    """.split()
)

# These change rows of a variable, which from the first time on is copied when it is read as a whole, as for a gather:
# nothing may hold its buffer (EnsureSparseVariableAccess in tensorflow/core/kernels/training_op_helpers.h).
BY_ROW = ("ResourceScatter", "ResourceSparseApply")
CHANGES = ("Assign", "ResourceApply", *BY_ROW)  # how all that change a variable begin

# Scalars, shapes and handles: on the host, or next to nothing.
NOTHING = frozenset(
    """
    Const Given NoOp Shape ShapeN Size Rank BroadcastGradientArgs Placeholder VarHandleOp VarIsInitializedOp
    ControlTrigger
    """.split()
)
FREE = NOTHING | {"LoopCond", "TensorListLength", "TensorListElementShape"}
