module @jit__lambda attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<4x8xf32>) -> (tensor<4x5xf32> {jax.result_info = "result"}) {
    %cst = stablehlo.constant dense<"0xCA62683EC5B4E63DA0085ABDAF854F3FDA5D17BF186D433C1FC0AEBE04B0E53D40C4AB3BD2E5883E2E9D483FFAAEE83D6AB1E3BEBF77183FCCA9903E724FBB3E3F8D90BE101846BE9E95183EDD1BE63ED09C6C3E03B72B3F34E49C3E9B59223F0726ABBEFEB5A43E3A4F41BE20A6C13E59D06F3E83BDDA3E811C9F3EC379003F682C4CBE12AF5A3FD1C102BE8CDAA3BDCB14653F18F05EBEB46431BEAA7FF8BD9A8C75BE2FD16A3F34435FBE5E93E93E003C983C80F8D03E400F88BE8810EB3E58073B3F2BF2283E9465A3BD5E5B2BBE4ABB523E4B9EEC3D077F543EEC5738BE8E13FC3EB2B3AE3EC77FD73E886CA03D5FCD933E7C406DBDE3EE4DBEE3A6923D18BDB7BDCB16EA3E5C483A3F8CB212BFD479573F9A062C3D8DB8C13EA197233FD6D99A3E44E1403DB27E0B3F543953BEB0EC59BCAE9BA5BE826D86BDB2D5DB3E04650FBE5217463F30CA19BFE87F08BE92BDF73DE009253E6A9A623E5EE8043E4E9597BE82DAE6BDFC20C93ECADF2ABF62EB413F0D3FD53EAB94223F214695BE2433A1BDA81EC53EE0D2553F88F289BE2C330FBF0E376EBEF5281E3F91C0113F1E284C3D4051103FEF27453DB255A03E921370BE9AFC0E3FE0B38ABC5B51A6BD2C44B73D5892C3BE3F7A3C3EE8C59DBC4A4C8FBE00170EBE01B5093E668EFEBEB3AA0E3EEC0A2F3FD0CBF83E4CB11F3E7A91E93E9D81343F91F4813EB0DF123F"> : tensor<8x16xf32>
    %cst_0 = stablehlo.constant dense<[0.145868585, 0.0638929084, 1.471400e-01, 0.0798142626, 0.27932784, 0.240073189, 2.792360e-01, 0.209023282, 0.075082466, 0.0707560331, 0.148943096, 0.0520559326, 0.0613306426, 0.196149245, 0.218735069, 0.188189924]> : tensor<16xf32>
    %cst_1 = stablehlo.constant dense<[1.06275487, 1.06306505, 1.23033834, 1.0625391, 1.29380667, 1.08847904, 1.19070661, 1.15196049, 1.16500211, 1.05292559, 1.17865813, 1.22969079, 1.15691829, 1.15041256, 1.17187107, 1.08257759]> : tensor<16xf32>
    %cst_2 = stablehlo.constant dense<[0.111596368, 0.073802121, 0.251624197, 0.109594382, 0.199717432, 0.158132195, 0.174868524, 0.267839283, 0.0782292187, 0.226276651, 0.261959314, 0.1817296, 0.262085974, 0.168050855, 0.0586932898, 0.0636074319]> : tensor<16xf32>
    %cst_3 = stablehlo.constant dense<[[0.139689326, -0.134459823, 0.540949345, 0.369482309, 0.306924522], [0.0898688287, 0.655951262, -0.0154638141, 0.156726554, -0.222203165], [0.312346697, 0.280912578, -0.232903466, -0.0631268322, -0.0552055836], [-0.204135269, 0.344685465, 0.699394107, 3.094300e-01, -0.223952189], [0.13070038, 0.228198588, 0.399778187, 0.228896841, 0.734798848], [0.0904351994, 0.0109616667, 0.301846683, -0.0797719359, -0.0877317488], [-0.2450082, 0.699939609, 0.0889971628, 0.138012916, 0.018162325], [0.361212552, 0.185319558, 0.293354303, 0.199267566, -0.0464745909], [-0.0720403492, 0.0594856367, -0.209828347, -0.0916041731, 0.00415111333], [0.0850939304, -0.050001502, 0.241794109, 0.562540352, 0.383770168], [0.622135221, -8.79913568E-4, 0.286097646, 0.426742822, 0.332888663], [0.546064615, 1.555020e-01, 0.0913425833, -0.105747744, 0.0167571157], [0.40085578, 0.518591523, 0.64043653, 0.237586632, 0.176602677], [0.477660894, 0.340797454, -0.0410166606, 0.0436369032, 0.313497752], [0.195417821, -0.0778839886, -0.0185166523, 0.505422711, 0.0365350246], [0.0958117246, 0.0138352066, 0.231550828, 0.241615772, -7.20888376E-4]]> : tensor<16x5xf32>
    %cst_4 = stablehlo.constant dense<[0.0822627246, 0.0755115747, 0.0713732094, 0.21727635, 0.103093773]> : tensor<5xf32>
    %0 = stablehlo.dot_general %arg0, %cst, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
    %1 = stablehlo.reshape %cst_0 : (tensor<16xf32>) -> tensor<1x16xf32>
    %2 = stablehlo.broadcast_in_dim %1, dims = [0, 1] : (tensor<1x16xf32>) -> tensor<4x16xf32>
    %3 = stablehlo.add %0, %2 : tensor<4x16xf32>
    %4 = stablehlo.multiply %3, %3 : tensor<4x16xf32>
    %5 = stablehlo.multiply %4, %3 : tensor<4x16xf32>
    %cst_5 = stablehlo.constant dense<4.471500e-02> : tensor<f32>
    %6 = stablehlo.broadcast_in_dim %cst_5, dims = [] : (tensor<f32>) -> tensor<4x16xf32>
    %7 = stablehlo.multiply %6, %5 : tensor<4x16xf32>
    %8 = stablehlo.add %3, %7 : tensor<4x16xf32>
    %cst_6 = stablehlo.constant dense<0.797884583> : tensor<f32>
    %9 = stablehlo.broadcast_in_dim %cst_6, dims = [] : (tensor<f32>) -> tensor<4x16xf32>
    %10 = stablehlo.multiply %9, %8 : tensor<4x16xf32>
    %11 = stablehlo.tanh %10 : tensor<4x16xf32>
    %cst_7 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %12 = stablehlo.broadcast_in_dim %cst_7, dims = [] : (tensor<f32>) -> tensor<4x16xf32>
    %13 = stablehlo.add %12, %11 : tensor<4x16xf32>
    %cst_8 = stablehlo.constant dense<5.000000e-01> : tensor<f32>
    %14 = stablehlo.broadcast_in_dim %cst_8, dims = [] : (tensor<f32>) -> tensor<4x16xf32>
    %15 = stablehlo.multiply %14, %13 : tensor<4x16xf32>
    %16 = stablehlo.multiply %3, %15 : tensor<4x16xf32>
    %17 = chlo.square %16 : tensor<4x16xf32> -> tensor<4x16xf32>
    %cst_9 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %18 = stablehlo.reduce(%16 init: %cst_9) applies stablehlo.add across dimensions = [1] : (tensor<4x16xf32>, tensor<f32>) -> tensor<4xf32>
    %cst_10 = stablehlo.constant dense<1.600000e+01> : tensor<f32>
    %19 = stablehlo.broadcast_in_dim %cst_10, dims = [] : (tensor<f32>) -> tensor<4xf32>
    %20 = stablehlo.divide %18, %19 : tensor<4xf32>
    %cst_11 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %21 = stablehlo.reduce(%17 init: %cst_11) applies stablehlo.add across dimensions = [1] : (tensor<4x16xf32>, tensor<f32>) -> tensor<4xf32>
    %cst_12 = stablehlo.constant dense<1.600000e+01> : tensor<f32>
    %22 = stablehlo.broadcast_in_dim %cst_12, dims = [] : (tensor<f32>) -> tensor<4xf32>
    %23 = stablehlo.divide %21, %22 : tensor<4xf32>
    %24 = chlo.square %20 : tensor<4xf32> -> tensor<4xf32>
    %25 = stablehlo.subtract %23, %24 : tensor<4xf32>
    %cst_13 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %26 = stablehlo.broadcast_in_dim %cst_13, dims = [] : (tensor<f32>) -> tensor<4xf32>
    %27 = stablehlo.maximum %26, %25 : tensor<4xf32>
    %28 = stablehlo.broadcast_in_dim %20, dims = [0] : (tensor<4xf32>) -> tensor<4x1xf32>
    %29 = stablehlo.broadcast_in_dim %27, dims = [0] : (tensor<4xf32>) -> tensor<4x1xf32>
    %30 = stablehlo.broadcast_in_dim %28, dims = [0, 1] : (tensor<4x1xf32>) -> tensor<4x16xf32>
    %31 = stablehlo.subtract %16, %30 : tensor<4x16xf32>
    %cst_14 = stablehlo.constant dense<9.99999997E-7> : tensor<f32>
    %32 = stablehlo.broadcast_in_dim %cst_14, dims = [] : (tensor<f32>) -> tensor<4x1xf32>
    %33 = stablehlo.add %29, %32 : tensor<4x1xf32>
    %34 = stablehlo.rsqrt %33 : tensor<4x1xf32>
    %35 = stablehlo.reshape %cst_1 : (tensor<16xf32>) -> tensor<1x16xf32>
    %36 = stablehlo.broadcast_in_dim %34, dims = [0, 1] : (tensor<4x1xf32>) -> tensor<4x16xf32>
    %37 = stablehlo.broadcast_in_dim %35, dims = [0, 1] : (tensor<1x16xf32>) -> tensor<4x16xf32>
    %38 = stablehlo.multiply %36, %37 : tensor<4x16xf32>
    %39 = stablehlo.multiply %31, %38 : tensor<4x16xf32>
    %40 = stablehlo.reshape %cst_2 : (tensor<16xf32>) -> tensor<1x16xf32>
    %41 = stablehlo.broadcast_in_dim %40, dims = [0, 1] : (tensor<1x16xf32>) -> tensor<4x16xf32>
    %42 = stablehlo.add %39, %41 : tensor<4x16xf32>
    %43 = stablehlo.dot_general %42, %cst_3, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<4x16xf32>, tensor<16x5xf32>) -> tensor<4x5xf32>
    %44 = stablehlo.reshape %cst_4 : (tensor<5xf32>) -> tensor<1x5xf32>
    %45 = stablehlo.broadcast_in_dim %44, dims = [0, 1] : (tensor<1x5xf32>) -> tensor<4x5xf32>
    %46 = stablehlo.add %43, %45 : tensor<4x5xf32>
    %47 = call @log_softmax(%46) : (tensor<4x5xf32>) -> tensor<4x5xf32>
    return %47 : tensor<4x5xf32>
  }
  func.func private @log_softmax(%arg0: tensor<4x5xf32>) -> tensor<4x5xf32> {
    %cst = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %0 = stablehlo.reduce(%arg0 init: %cst) applies stablehlo.maximum across dimensions = [1] : (tensor<4x5xf32>, tensor<f32>) -> tensor<4xf32>
    %cst_0 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %1 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<4xf32>
    %2 = stablehlo.maximum %1, %0 : tensor<4xf32>
    %3 = stablehlo.broadcast_in_dim %2, dims = [0] : (tensor<4xf32>) -> tensor<4x1xf32>
    %4 = stablehlo.broadcast_in_dim %3, dims = [0, 1] : (tensor<4x1xf32>) -> tensor<4x5xf32>
    %5 = stablehlo.subtract %arg0, %4 : tensor<4x5xf32>
    %6 = stablehlo.exponential %5 : tensor<4x5xf32>
    %cst_1 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %7 = stablehlo.reduce(%6 init: %cst_1) applies stablehlo.add across dimensions = [1] : (tensor<4x5xf32>, tensor<f32>) -> tensor<4xf32>
    %8 = stablehlo.broadcast_in_dim %7, dims = [0] : (tensor<4xf32>) -> tensor<4x1xf32>
    %9 = stablehlo.log %8 : tensor<4x1xf32>
    %10 = stablehlo.broadcast_in_dim %9, dims = [0, 1] : (tensor<4x1xf32>) -> tensor<4x5xf32>
    %11 = stablehlo.subtract %5, %10 : tensor<4x5xf32>
    return %11 : tensor<4x5xf32>
  }
}
