module @jit_indexing attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<6x5xf32>, %arg1: tensor<3xi32>, %arg2: tensor<i32>, %arg3: tensor<3x5xf32>) -> (tensor<3x5xf32> {jax.result_info = "result[0]"}, tensor<6x3xf32> {jax.result_info = "result[1]"}, tensor<3xf32> {jax.result_info = "result[2]"}, tensor<6x3xf32> {jax.result_info = "result[3]"}, tensor<6x5xf32> {jax.result_info = "result[4]"}, tensor<6x5xf32> {jax.result_info = "result[5]"}, tensor<6x5xf32> {jax.result_info = "result[6]"}, tensor<6x5xf32> {jax.result_info = "result[7]"}, tensor<6x5xf32> {jax.result_info = "result[8]"}, tensor<6x5xf32> {jax.result_info = "result[9]"}, tensor<2x3xf32> {jax.result_info = "result[10]"}, tensor<3x2xf32> {jax.result_info = "result[11]"}, tensor<6x5xf32> {jax.result_info = "result[12]"}, tensor<6x5xf32> {jax.result_info = "result[13]"}, tensor<6x1xf32> {jax.result_info = "result[14]"}, tensor<5xf32> {jax.result_info = "result[15]"}, tensor<f32> {jax.result_info = "result[16]"}, tensor<3xf32> {jax.result_info = "result[17]"}, tensor<3xf32> {jax.result_info = "result[18]"}, tensor<3x6xf32> {jax.result_info = "result[19]"}, tensor<5xf32> {jax.result_info = "result[20]"}, tensor<6x2xf32> {jax.result_info = "result[21]"}, tensor<5xi32> {jax.result_info = "result[22]"}, tensor<6x5xf32> {jax.result_info = "result[23]"}, tensor<3x2x3xf32> {jax.result_info = "result[24]"}) {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<3xi32>
    %1 = stablehlo.compare LT, %arg1, %0, SIGNED : (tensor<3xi32>, tensor<3xi32>) -> tensor<3xi1>
    %c_0 = stablehlo.constant dense<6> : tensor<i32>
    %2 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<i32>) -> tensor<3xi32>
    %3 = stablehlo.add %arg1, %2 : tensor<3xi32>
    %4 = stablehlo.select %1, %3, %arg1 : tensor<3xi1>, tensor<3xi32>
    %5 = stablehlo.broadcast_in_dim %4, dims = [0] : (tensor<3xi32>) -> tensor<3x1xi32>
    %6 = "stablehlo.gather"(%arg0, %5) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1, 5>}> : (tensor<6x5xf32>, tensor<3x1xi32>) -> tensor<3x5xf32>
    %c_1 = stablehlo.constant dense<5> : tensor<i32>
    %7 = call @remainder(%arg1, %c_1) : (tensor<3xi32>, tensor<i32>) -> tensor<3xi32>
    %c_2 = stablehlo.constant dense<0> : tensor<i32>
    %8 = stablehlo.broadcast_in_dim %c_2, dims = [] : (tensor<i32>) -> tensor<3xi32>
    %9 = stablehlo.compare LT, %7, %8, SIGNED : (tensor<3xi32>, tensor<3xi32>) -> tensor<3xi1>
    %c_3 = stablehlo.constant dense<5> : tensor<i32>
    %10 = stablehlo.broadcast_in_dim %c_3, dims = [] : (tensor<i32>) -> tensor<3xi32>
    %11 = stablehlo.add %7, %10 : tensor<3xi32>
    %12 = stablehlo.select %9, %11, %7 : tensor<3xi1>, tensor<3xi32>
    %13 = stablehlo.broadcast_in_dim %12, dims = [0] : (tensor<3xi32>) -> tensor<3x1xi32>
    %14 = "stablehlo.gather"(%arg0, %13) <{dimension_numbers = #stablehlo.gather<offset_dims = [0], collapsed_slice_dims = [1], start_index_map = [1], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 6, 1>}> : (tensor<6x5xf32>, tensor<3x1xi32>) -> tensor<6x3xf32>
    %c_4 = stablehlo.constant dense<5> : tensor<i32>
    %15 = call @remainder(%arg1, %c_4) : (tensor<3xi32>, tensor<i32>) -> tensor<3xi32>
    %c_5 = stablehlo.constant dense<0> : tensor<i32>
    %16 = stablehlo.broadcast_in_dim %c_5, dims = [] : (tensor<i32>) -> tensor<3xi32>
    %17 = stablehlo.compare LT, %arg1, %16, SIGNED : (tensor<3xi32>, tensor<3xi32>) -> tensor<3xi1>
    %c_6 = stablehlo.constant dense<6> : tensor<i32>
    %18 = stablehlo.broadcast_in_dim %c_6, dims = [] : (tensor<i32>) -> tensor<3xi32>
    %19 = stablehlo.add %arg1, %18 : tensor<3xi32>
    %20 = stablehlo.select %17, %19, %arg1 : tensor<3xi1>, tensor<3xi32>
    %c_7 = stablehlo.constant dense<0> : tensor<i32>
    %21 = stablehlo.broadcast_in_dim %c_7, dims = [] : (tensor<i32>) -> tensor<3xi32>
    %22 = stablehlo.compare LT, %15, %21, SIGNED : (tensor<3xi32>, tensor<3xi32>) -> tensor<3xi1>
    %c_8 = stablehlo.constant dense<5> : tensor<i32>
    %23 = stablehlo.broadcast_in_dim %c_8, dims = [] : (tensor<i32>) -> tensor<3xi32>
    %24 = stablehlo.add %15, %23 : tensor<3xi32>
    %25 = stablehlo.select %22, %24, %15 : tensor<3xi1>, tensor<3xi32>
    %26 = stablehlo.broadcast_in_dim %20, dims = [0] : (tensor<3xi32>) -> tensor<3x1xi32>
    %27 = stablehlo.broadcast_in_dim %25, dims = [0] : (tensor<3xi32>) -> tensor<3x1xi32>
    %28 = stablehlo.concatenate %26, %27, dim = 1 : (tensor<3x1xi32>, tensor<3x1xi32>) -> tensor<3x2xi32>
    %29 = "stablehlo.gather"(%arg0, %28) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1, 1>}> : (tensor<6x5xf32>, tensor<3x2xi32>) -> tensor<3xf32>
    %30 = call @_take(%arg0, %arg1) : (tensor<6x5xf32>, tensor<3xi32>) -> tensor<6x3xf32>
    %31 = call @argsort(%arg0) : (tensor<6x5xf32>) -> tensor<6x5xi32>
    %32 = call @take_along_axis(%arg0, %31) : (tensor<6x5xf32>, tensor<6x5xi32>) -> tensor<6x5xf32>
    %c_9 = stablehlo.constant dense<0> : tensor<i32>
    %33 = stablehlo.broadcast_in_dim %c_9, dims = [] : (tensor<i32>) -> tensor<3xi32>
    %34 = stablehlo.compare LT, %arg1, %33, SIGNED : (tensor<3xi32>, tensor<3xi32>) -> tensor<3xi1>
    %c_10 = stablehlo.constant dense<6> : tensor<i32>
    %35 = stablehlo.broadcast_in_dim %c_10, dims = [] : (tensor<i32>) -> tensor<3xi32>
    %36 = stablehlo.add %arg1, %35 : tensor<3xi32>
    %37 = stablehlo.select %34, %36, %arg1 : tensor<3xi1>, tensor<3xi32>
    %38 = stablehlo.broadcast_in_dim %37, dims = [0] : (tensor<3xi32>) -> tensor<3x1xi32>
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %39 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<3x5xf32>
    %40 = "stablehlo.scatter"(%arg0, %38, %39) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = false}> ({
    ^bb0(%arg4: tensor<f32>, %arg5: tensor<f32>):
      stablehlo.return %arg5 : tensor<f32>
    }) : (tensor<6x5xf32>, tensor<3x1xi32>, tensor<3x5xf32>) -> tensor<6x5xf32>
    %c_11 = stablehlo.constant dense<0> : tensor<i32>
    %41 = stablehlo.broadcast_in_dim %c_11, dims = [] : (tensor<i32>) -> tensor<3xi32>
    %42 = stablehlo.compare LT, %arg1, %41, SIGNED : (tensor<3xi32>, tensor<3xi32>) -> tensor<3xi1>
    %c_12 = stablehlo.constant dense<6> : tensor<i32>
    %43 = stablehlo.broadcast_in_dim %c_12, dims = [] : (tensor<i32>) -> tensor<3xi32>
    %44 = stablehlo.add %arg1, %43 : tensor<3xi32>
    %45 = stablehlo.select %42, %44, %arg1 : tensor<3xi1>, tensor<3xi32>
    %46 = stablehlo.broadcast_in_dim %45, dims = [0] : (tensor<3xi32>) -> tensor<3x1xi32>
    %47 = "stablehlo.scatter"(%arg0, %46, %arg3) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = false}> ({
    ^bb0(%arg4: tensor<f32>, %arg5: tensor<f32>):
      %142 = stablehlo.add %arg4, %arg5 : tensor<f32>
      stablehlo.return %142 : tensor<f32>
    }) : (tensor<6x5xf32>, tensor<3x1xi32>, tensor<3x5xf32>) -> tensor<6x5xf32>
    %c_13 = stablehlo.constant dense<0> : tensor<i32>
    %48 = stablehlo.broadcast_in_dim %c_13, dims = [] : (tensor<i32>) -> tensor<3xi32>
    %49 = stablehlo.compare LT, %arg1, %48, SIGNED : (tensor<3xi32>, tensor<3xi32>) -> tensor<3xi1>
    %c_14 = stablehlo.constant dense<6> : tensor<i32>
    %50 = stablehlo.broadcast_in_dim %c_14, dims = [] : (tensor<i32>) -> tensor<3xi32>
    %51 = stablehlo.add %arg1, %50 : tensor<3xi32>
    %52 = stablehlo.select %49, %51, %arg1 : tensor<3xi1>, tensor<3xi32>
    %c_15 = stablehlo.constant dense<0> : tensor<i32>
    %53 = stablehlo.broadcast_in_dim %c_15, dims = [] : (tensor<i32>) -> tensor<3xi32>
    %54 = stablehlo.convert %53 : tensor<3xi32>
    %55 = stablehlo.broadcast_in_dim %52, dims = [0] : (tensor<3xi32>) -> tensor<3x1xi32>
    %56 = stablehlo.broadcast_in_dim %54, dims = [0] : (tensor<3xi32>) -> tensor<3x1xi32>
    %57 = stablehlo.concatenate %55, %56, dim = 1 : (tensor<3x1xi32>, tensor<3x1xi32>) -> tensor<3x2xi32>
    %cst_16 = stablehlo.constant dense<2.000000e+00> : tensor<f32>
    %58 = stablehlo.broadcast_in_dim %cst_16, dims = [] : (tensor<f32>) -> tensor<3xf32>
    %59 = "stablehlo.scatter"(%arg0, %57, %58) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1>, unique_indices = false}> ({
    ^bb0(%arg4: tensor<f32>, %arg5: tensor<f32>):
      %142 = stablehlo.add %arg4, %arg5 : tensor<f32>
      stablehlo.return %142 : tensor<f32>
    }) : (tensor<6x5xf32>, tensor<3x2xi32>, tensor<3xf32>) -> tensor<6x5xf32>
    %c_17 = stablehlo.constant dense<5> : tensor<i32>
    %60 = call @remainder(%arg1, %c_17) : (tensor<3xi32>, tensor<i32>) -> tensor<3xi32>
    %c_18 = stablehlo.constant dense<0> : tensor<i32>
    %61 = stablehlo.broadcast_in_dim %c_18, dims = [] : (tensor<i32>) -> tensor<3xi32>
    %62 = stablehlo.compare LT, %60, %61, SIGNED : (tensor<3xi32>, tensor<3xi32>) -> tensor<3xi1>
    %c_19 = stablehlo.constant dense<5> : tensor<i32>
    %63 = stablehlo.broadcast_in_dim %c_19, dims = [] : (tensor<i32>) -> tensor<3xi32>
    %64 = stablehlo.add %60, %63 : tensor<3xi32>
    %65 = stablehlo.select %62, %64, %60 : tensor<3xi1>, tensor<3xi32>
    %66 = stablehlo.broadcast_in_dim %65, dims = [0] : (tensor<3xi32>) -> tensor<3x1xi32>
    %cst_20 = stablehlo.constant dense<2.000000e+00> : tensor<f32>
    %67 = stablehlo.broadcast_in_dim %cst_20, dims = [] : (tensor<f32>) -> tensor<6x3xf32>
    %68 = "stablehlo.scatter"(%arg0, %66, %67) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0], inserted_window_dims = [1], scatter_dims_to_operand_dims = [1], index_vector_dim = 1>, unique_indices = false}> ({
    ^bb0(%arg4: tensor<f32>, %arg5: tensor<f32>):
      %142 = stablehlo.multiply %arg4, %arg5 : tensor<f32>
      stablehlo.return %142 : tensor<f32>
    }) : (tensor<6x5xf32>, tensor<3x1xi32>, tensor<6x3xf32>) -> tensor<6x5xf32>
    %c_21 = stablehlo.constant dense<1> : tensor<i32>
    %69 = stablehlo.broadcast_in_dim %c_21, dims = [] : (tensor<i32>) -> tensor<1xi32>
    %c_22 = stablehlo.constant dense<2> : tensor<i32>
    %70 = stablehlo.broadcast_in_dim %c_22, dims = [] : (tensor<i32>) -> tensor<1xi32>
    %71 = stablehlo.concatenate %69, %70, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
    %cst_23 = stablehlo.constant dense<9.000000e+00> : tensor<f32>
    %72 = stablehlo.broadcast_in_dim %cst_23, dims = [] : (tensor<f32>) -> tensor<2x2xf32>
    %73 = "stablehlo.scatter"(%arg0, %71, %72) <{indices_are_sorted = true, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1]>, unique_indices = true}> ({
    ^bb0(%arg4: tensor<f32>, %arg5: tensor<f32>):
      stablehlo.return %arg5 : tensor<f32>
    }) : (tensor<6x5xf32>, tensor<2xi32>, tensor<2x2xf32>) -> tensor<6x5xf32>
    %c_24 = stablehlo.constant dense<0> : tensor<i32>
    %74 = stablehlo.compare LT, %arg2, %c_24, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %c_25 = stablehlo.constant dense<6> : tensor<i32>
    %75 = stablehlo.add %arg2, %c_25 : tensor<i32>
    %76 = stablehlo.select %74, %75, %arg2 : tensor<i1>, tensor<i32>
    %c_26 = stablehlo.constant dense<1> : tensor<i32>
    %77 = stablehlo.dynamic_slice %arg0, %76, %c_26, sizes = [2, 3] : (tensor<6x5xf32>, tensor<i32>, tensor<i32>) -> tensor<2x3xf32>
    %c_27 = stablehlo.constant dense<0> : tensor<i32>
    %78 = stablehlo.compare LT, %arg2, %c_27, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %c_28 = stablehlo.constant dense<6> : tensor<i32>
    %79 = stablehlo.add %arg2, %c_28 : tensor<i32>
    %80 = stablehlo.select %78, %79, %arg2 : tensor<i1>, tensor<i32>
    %c_29 = stablehlo.constant dense<0> : tensor<i32>
    %81 = stablehlo.compare LT, %arg2, %c_29, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %c_30 = stablehlo.constant dense<5> : tensor<i32>
    %82 = stablehlo.add %arg2, %c_30 : tensor<i32>
    %83 = stablehlo.select %81, %82, %arg2 : tensor<i1>, tensor<i32>
    %84 = stablehlo.dynamic_slice %arg0, %80, %83, sizes = [3, 2] : (tensor<6x5xf32>, tensor<i32>, tensor<i32>) -> tensor<3x2xf32>
    %85 = stablehlo.slice %arg0 [0:2, 0:2] : (tensor<6x5xf32>) -> tensor<2x2xf32>
    %c_31 = stablehlo.constant dense<0> : tensor<i32>
    %86 = stablehlo.compare LT, %arg2, %c_31, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %c_32 = stablehlo.constant dense<6> : tensor<i32>
    %87 = stablehlo.add %arg2, %c_32 : tensor<i32>
    %88 = stablehlo.select %86, %87, %arg2 : tensor<i1>, tensor<i32>
    %c_33 = stablehlo.constant dense<1> : tensor<i32>
    %89 = stablehlo.dynamic_update_slice %arg0, %85, %88, %c_33 : (tensor<6x5xf32>, tensor<2x2xf32>, tensor<i32>, tensor<i32>) -> tensor<6x5xf32>
    %90 = stablehlo.slice %arg0 [0:2, 0:5] : (tensor<6x5xf32>) -> tensor<2x5xf32>
    %c_34 = stablehlo.constant dense<0> : tensor<i32>
    %91 = stablehlo.compare LT, %arg2, %c_34, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %c_35 = stablehlo.constant dense<6> : tensor<i32>
    %92 = stablehlo.add %arg2, %c_35 : tensor<i32>
    %93 = stablehlo.select %91, %92, %arg2 : tensor<i1>, tensor<i32>
    %c_36 = stablehlo.constant dense<0> : tensor<i32>
    %94 = stablehlo.dynamic_update_slice %arg0, %90, %93, %c_36 : (tensor<6x5xf32>, tensor<2x5xf32>, tensor<i32>, tensor<i32>) -> tensor<6x5xf32>
    %95 = call @dynamic_index_in_dim(%arg0, %arg2) : (tensor<6x5xf32>, tensor<i32>) -> tensor<6x1xf32>
    %c_37 = stablehlo.constant dense<0> : tensor<i32>
    %96 = stablehlo.compare LT, %arg2, %c_37, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %c_38 = stablehlo.constant dense<6> : tensor<i32>
    %97 = stablehlo.add %arg2, %c_38 : tensor<i32>
    %98 = stablehlo.select %96, %97, %arg2 : tensor<i1>, tensor<i32>
    %c_39 = stablehlo.constant dense<0> : tensor<i32>
    %c_40 = stablehlo.constant dense<0> : tensor<i32>
    %99 = stablehlo.compare LT, %c_39, %c_40, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %c_41 = stablehlo.constant dense<0> : tensor<i32>
    %c_42 = stablehlo.constant dense<5> : tensor<i32>
    %100 = stablehlo.add %c_41, %c_42 : tensor<i32>
    %c_43 = stablehlo.constant dense<0> : tensor<i32>
    %101 = stablehlo.select %99, %100, %c_43 : tensor<i1>, tensor<i32>
    %102 = stablehlo.dynamic_slice %arg0, %98, %101, sizes = [1, 5] : (tensor<6x5xf32>, tensor<i32>, tensor<i32>) -> tensor<1x5xf32>
    %103 = stablehlo.reshape %102 : (tensor<1x5xf32>) -> tensor<5xf32>
    %c_44 = stablehlo.constant dense<0> : tensor<i32>
    %104 = stablehlo.compare LT, %arg2, %c_44, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %c_45 = stablehlo.constant dense<6> : tensor<i32>
    %105 = stablehlo.add %arg2, %c_45 : tensor<i32>
    %106 = stablehlo.select %104, %105, %arg2 : tensor<i1>, tensor<i32>
    %c_46 = stablehlo.constant dense<0> : tensor<i32>
    %107 = stablehlo.compare LT, %arg2, %c_46, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %c_47 = stablehlo.constant dense<5> : tensor<i32>
    %108 = stablehlo.add %arg2, %c_47 : tensor<i32>
    %109 = stablehlo.select %107, %108, %arg2 : tensor<i1>, tensor<i32>
    %110 = stablehlo.dynamic_slice %arg0, %106, %109, sizes = [1, 1] : (tensor<6x5xf32>, tensor<i32>, tensor<i32>) -> tensor<1x1xf32>
    %111 = stablehlo.reshape %110 : (tensor<1x1xf32>) -> tensor<f32>
    %112 = stablehlo.reshape %arg0 : (tensor<6x5xf32>) -> tensor<30xf32>
    %113 = call @_take_0(%112, %arg1) : (tensor<30xf32>, tensor<3xi32>) -> tensor<3xf32>
    %114 = stablehlo.slice %arg0 [0:3, 0:5] : (tensor<6x5xf32>) -> tensor<3x5xf32>
    %c_48 = stablehlo.constant dense<0> : tensor<i32>
    %115 = stablehlo.broadcast_in_dim %c_48, dims = [] : (tensor<i32>) -> tensor<3xi32>
    %116 = stablehlo.compare LT, %arg1, %115, SIGNED : (tensor<3xi32>, tensor<3xi32>) -> tensor<3xi1>
    %c_49 = stablehlo.constant dense<5> : tensor<i32>
    %117 = stablehlo.broadcast_in_dim %c_49, dims = [] : (tensor<i32>) -> tensor<3xi32>
    %118 = stablehlo.add %arg1, %117 : tensor<3xi32>
    %119 = stablehlo.select %116, %118, %arg1 : tensor<3xi1>, tensor<3xi32>
    %120 = stablehlo.broadcast_in_dim %119, dims = [0] : (tensor<3xi32>) -> tensor<3x1xi32>
    %121 = "stablehlo.gather"(%114, %120) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 1>, indices_are_sorted = true, slice_sizes = array<i64: 1, 1>}> : (tensor<3x5xf32>, tensor<3x1xi32>) -> tensor<3x1xf32>
    %122 = stablehlo.reshape %121 : (tensor<3x1xf32>) -> tensor<3xf32>
    %123 = call @_one_hot(%arg1) : (tensor<3xi32>) -> tensor<3x6xf32>
    %124 = stablehlo.slice %arg0 [5:6, 0:5] : (tensor<6x5xf32>) -> tensor<1x5xf32>
    %125 = stablehlo.reshape %124 : (tensor<1x5xf32>) -> tensor<5xf32>
    %126 = stablehlo.slice %arg0 [0:6, 3:5] : (tensor<6x5xf32>) -> tensor<6x2xf32>
    %127 = stablehlo.slice %arg0 [0:1, 0:5] : (tensor<6x5xf32>) -> tensor<1x5xf32>
    %128 = stablehlo.reshape %127 : (tensor<1x5xf32>) -> tensor<5xf32>
    %129 = call @sort(%128) : (tensor<5xf32>) -> tensor<5xf32>
    %130 = stablehlo.slice %arg3 [0:1, 0:5] : (tensor<3x5xf32>) -> tensor<1x5xf32>
    %131 = stablehlo.reshape %130 : (tensor<1x5xf32>) -> tensor<5xf32>
    %132 = call @searchsorted(%129, %131) : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xi32>
    %c_50 = stablehlo.constant dense<0> : tensor<i32>
    %133 = stablehlo.broadcast_in_dim %c_50, dims = [] : (tensor<i32>) -> tensor<3xi32>
    %134 = stablehlo.compare LT, %arg1, %133, SIGNED : (tensor<3xi32>, tensor<3xi32>) -> tensor<3xi1>
    %c_51 = stablehlo.constant dense<6> : tensor<i32>
    %135 = stablehlo.broadcast_in_dim %c_51, dims = [] : (tensor<i32>) -> tensor<3xi32>
    %136 = stablehlo.add %arg1, %135 : tensor<3xi32>
    %137 = stablehlo.select %134, %136, %arg1 : tensor<3xi1>, tensor<3xi32>
    %138 = stablehlo.broadcast_in_dim %137, dims = [0] : (tensor<3xi32>) -> tensor<3x1xi32>
    %139 = "stablehlo.scatter"(%arg0, %138, %arg3) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = false}> ({
    ^bb0(%arg4: tensor<f32>, %arg5: tensor<f32>):
      %142 = stablehlo.maximum %arg4, %arg5 : tensor<f32>
      stablehlo.return %142 : tensor<f32>
    }) : (tensor<6x5xf32>, tensor<3x1xi32>, tensor<3x5xf32>) -> tensor<6x5xf32>
    %140 = stablehlo.broadcast_in_dim %arg1, dims = [0] : (tensor<3xi32>) -> tensor<3x1xi32>
    %141 = "stablehlo.gather"(%arg0, %140) <{dimension_numbers = #stablehlo.gather<offset_dims = [1, 2], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 2, 3>}> : (tensor<6x5xf32>, tensor<3x1xi32>) -> tensor<3x2x3xf32>
    return %6, %14, %29, %30, %32, %40, %47, %59, %68, %73, %77, %84, %89, %94, %95, %103, %111, %113, %122, %123, %125, %126, %132, %139, %141 : tensor<3x5xf32>, tensor<6x3xf32>, tensor<3xf32>, tensor<6x3xf32>, tensor<6x5xf32>, tensor<6x5xf32>, tensor<6x5xf32>, tensor<6x5xf32>, tensor<6x5xf32>, tensor<6x5xf32>, tensor<2x3xf32>, tensor<3x2xf32>, tensor<6x5xf32>, tensor<6x5xf32>, tensor<6x1xf32>, tensor<5xf32>, tensor<f32>, tensor<3xf32>, tensor<3xf32>, tensor<3x6xf32>, tensor<5xf32>, tensor<6x2xf32>, tensor<5xi32>, tensor<6x5xf32>, tensor<3x2x3xf32>
  }
  func.func private @remainder(%arg0: tensor<3xi32>, %arg1: tensor<i32>) -> tensor<3xi32> {
    %0 = stablehlo.convert %arg1 : tensor<i32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %1 = stablehlo.compare EQ, %0, %c, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %c_0 = stablehlo.constant dense<1> : tensor<i32>
    %2 = call @_where(%1, %c_0, %0) : (tensor<i1>, tensor<i32>, tensor<i32>) -> tensor<i32>
    %3 = stablehlo.broadcast_in_dim %2, dims = [] : (tensor<i32>) -> tensor<3xi32>
    %4 = stablehlo.remainder %arg0, %3 : tensor<3xi32>
    %c_1 = stablehlo.constant dense<0> : tensor<i32>
    %5 = stablehlo.broadcast_in_dim %c_1, dims = [] : (tensor<i32>) -> tensor<3xi32>
    %6 = stablehlo.compare NE, %4, %5, SIGNED : (tensor<3xi32>, tensor<3xi32>) -> tensor<3xi1>
    %c_2 = stablehlo.constant dense<0> : tensor<i32>
    %7 = stablehlo.broadcast_in_dim %c_2, dims = [] : (tensor<i32>) -> tensor<3xi32>
    %8 = stablehlo.compare LT, %4, %7, SIGNED : (tensor<3xi32>, tensor<3xi32>) -> tensor<3xi1>
    %c_3 = stablehlo.constant dense<0> : tensor<i32>
    %9 = stablehlo.compare LT, %2, %c_3, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %10 = stablehlo.broadcast_in_dim %9, dims = [] : (tensor<i1>) -> tensor<3xi1>
    %11 = stablehlo.compare NE, %8, %10, UNSIGNED : (tensor<3xi1>, tensor<3xi1>) -> tensor<3xi1>
    %12 = stablehlo.and %11, %6 : tensor<3xi1>
    %13 = stablehlo.broadcast_in_dim %2, dims = [] : (tensor<i32>) -> tensor<3xi32>
    %14 = stablehlo.add %4, %13 : tensor<3xi32>
    %15 = stablehlo.select %12, %14, %4 : tensor<3xi1>, tensor<3xi32>
    return %15 : tensor<3xi32>
  }
  func.func private @_where(%arg0: tensor<i1>, %arg1: tensor<i32>, %arg2: tensor<i32>) -> tensor<i32> {
    %0 = stablehlo.select %arg0, %arg1, %arg2 : tensor<i1>, tensor<i32>
    return %0 : tensor<i32>
  }
  func.func private @_take(%arg0: tensor<6x5xf32>, %arg1: tensor<3xi32>) -> tensor<6x3xf32> {
    %0 = stablehlo.broadcast_in_dim %arg1, dims = [0] : (tensor<3xi32>) -> tensor<3x1xi32>
    %1 = "stablehlo.gather"(%arg0, %0) <{dimension_numbers = #stablehlo.gather<offset_dims = [0], collapsed_slice_dims = [1], start_index_map = [1], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 6, 1>}> : (tensor<6x5xf32>, tensor<3x1xi32>) -> tensor<6x3xf32>
    return %1 : tensor<6x3xf32>
  }
  func.func private @argsort(%arg0: tensor<6x5xf32>) -> tensor<6x5xi32> {
    %0 = stablehlo.iota dim = 1 : tensor<6x5xi32>
    %1:2 = "stablehlo.sort"(%arg0, %0) <{dimension = 1 : i64, is_stable = true}> ({
    ^bb0(%arg1: tensor<f32>, %arg2: tensor<f32>, %arg3: tensor<i32>, %arg4: tensor<i32>):
      %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
      %2 = stablehlo.compare EQ, %arg1, %cst, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %cst_0 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
      %3 = stablehlo.select %2, %cst_0, %arg1 : tensor<i1>, tensor<f32>
      %4 = stablehlo.compare NE, %arg1, %arg1, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %cst_1 = stablehlo.constant dense<0x7FC00000> : tensor<f32>
      %5 = stablehlo.select %4, %cst_1, %3 : tensor<i1>, tensor<f32>
      %cst_2 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
      %6 = stablehlo.compare EQ, %arg2, %cst_2, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %cst_3 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
      %7 = stablehlo.select %6, %cst_3, %arg2 : tensor<i1>, tensor<f32>
      %8 = stablehlo.compare NE, %arg2, %arg2, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %cst_4 = stablehlo.constant dense<0x7FC00000> : tensor<f32>
      %9 = stablehlo.select %8, %cst_4, %7 : tensor<i1>, tensor<f32>
      %10 = stablehlo.compare LT, %5, %9, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %10 : tensor<i1>
    }) : (tensor<6x5xf32>, tensor<6x5xi32>) -> (tensor<6x5xf32>, tensor<6x5xi32>)
    return %1#1 : tensor<6x5xi32>
  }
  func.func private @take_along_axis(%arg0: tensor<6x5xf32>, %arg1: tensor<6x5xi32>) -> tensor<6x5xf32> {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<6x5xi32>
    %1 = stablehlo.compare LT, %arg1, %0, SIGNED : (tensor<6x5xi32>, tensor<6x5xi32>) -> tensor<6x5xi1>
    %c_0 = stablehlo.constant dense<5> : tensor<i32>
    %2 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<i32>) -> tensor<6x5xi32>
    %3 = stablehlo.add %arg1, %2 : tensor<6x5xi32>
    %4 = stablehlo.select %1, %3, %arg1 : tensor<6x5xi1>, tensor<6x5xi32>
    %5 = stablehlo.reshape %4 : (tensor<6x5xi32>) -> tensor<6x5x1xi32>
    %c_1 = stablehlo.constant dense<4> : tensor<1xi32>
    %c_2 = stablehlo.constant dense<0> : tensor<i32>
    %6 = stablehlo.broadcast_in_dim %c_2, dims = [] : (tensor<i32>) -> tensor<6x5x1xi32>
    %7 = stablehlo.compare GE, %5, %6, SIGNED : (tensor<6x5x1xi32>, tensor<6x5x1xi32>) -> tensor<6x5x1xi1>
    %8 = stablehlo.broadcast_in_dim %c_1, dims = [2] : (tensor<1xi32>) -> tensor<1x1x1xi32>
    %9 = stablehlo.broadcast_in_dim %8, dims = [0, 1, 2] : (tensor<1x1x1xi32>) -> tensor<6x5x1xi32>
    %10 = stablehlo.compare LE, %5, %9, SIGNED : (tensor<6x5x1xi32>, tensor<6x5x1xi32>) -> tensor<6x5x1xi1>
    %11 = stablehlo.and %7, %10 : tensor<6x5x1xi1>
    %c_3 = stablehlo.constant dense<true> : tensor<i1>
    %12 = stablehlo.reduce(%11 init: %c_3) applies stablehlo.and across dimensions = [2] : (tensor<6x5x1xi1>, tensor<i1>) -> tensor<6x5xi1>
    %13 = "stablehlo.gather"(%arg0, %5) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 2>, indices_are_sorted = false, slice_sizes = array<i64: 1, 1>}> : (tensor<6x5xf32>, tensor<6x5x1xi32>) -> tensor<6x5xf32>
    %cst = stablehlo.constant dense<0x7FC00000> : tensor<f32>
    %14 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<6x5xf32>
    %15 = stablehlo.select %12, %13, %14 : tensor<6x5xi1>, tensor<6x5xf32>
    return %15 : tensor<6x5xf32>
  }
  func.func private @dynamic_index_in_dim(%arg0: tensor<6x5xf32>, %arg1: tensor<i32>) -> tensor<6x1xf32> {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.compare LT, %arg1, %c, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %c_0 = stablehlo.constant dense<5> : tensor<i32>
    %1 = stablehlo.add %arg1, %c_0 : tensor<i32>
    %2 = stablehlo.select %0, %1, %arg1 : tensor<i1>, tensor<i32>
    %c_1 = stablehlo.constant dense<0> : tensor<i32>
    %3 = stablehlo.dynamic_slice %arg0, %c_1, %2, sizes = [6, 1] : (tensor<6x5xf32>, tensor<i32>, tensor<i32>) -> tensor<6x1xf32>
    return %3 : tensor<6x1xf32>
  }
  func.func private @_take_0(%arg0: tensor<30xf32>, %arg1: tensor<3xi32>) -> tensor<3xf32> {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<3xi32>
    %1 = stablehlo.compare LT, %arg1, %0, SIGNED : (tensor<3xi32>, tensor<3xi32>) -> tensor<3xi1>
    %c_0 = stablehlo.constant dense<30> : tensor<i32>
    %2 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<i32>) -> tensor<3xi32>
    %3 = stablehlo.add %arg1, %2 : tensor<3xi32>
    %4 = call @_where_1(%1, %3, %arg1) : (tensor<3xi1>, tensor<3xi32>, tensor<3xi32>) -> tensor<3xi32>
    %5 = stablehlo.broadcast_in_dim %4, dims = [0] : (tensor<3xi32>) -> tensor<3x1xi32>
    %c_1 = stablehlo.constant dense<29> : tensor<1xi32>
    %c_2 = stablehlo.constant dense<0> : tensor<i32>
    %6 = stablehlo.broadcast_in_dim %c_2, dims = [] : (tensor<i32>) -> tensor<3x1xi32>
    %7 = stablehlo.compare GE, %5, %6, SIGNED : (tensor<3x1xi32>, tensor<3x1xi32>) -> tensor<3x1xi1>
    %8 = stablehlo.broadcast_in_dim %c_1, dims = [1] : (tensor<1xi32>) -> tensor<1x1xi32>
    %9 = stablehlo.broadcast_in_dim %8, dims = [0, 1] : (tensor<1x1xi32>) -> tensor<3x1xi32>
    %10 = stablehlo.compare LE, %5, %9, SIGNED : (tensor<3x1xi32>, tensor<3x1xi32>) -> tensor<3x1xi1>
    %11 = stablehlo.and %7, %10 : tensor<3x1xi1>
    %c_3 = stablehlo.constant dense<true> : tensor<i1>
    %12 = stablehlo.reduce(%11 init: %c_3) applies stablehlo.and across dimensions = [1] : (tensor<3x1xi1>, tensor<i1>) -> tensor<3xi1>
    %13 = "stablehlo.gather"(%arg0, %5) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1>}> : (tensor<30xf32>, tensor<3x1xi32>) -> tensor<3xf32>
    %cst = stablehlo.constant dense<0x7FC00000> : tensor<f32>
    %14 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<3xf32>
    %15 = stablehlo.select %12, %13, %14 : tensor<3xi1>, tensor<3xf32>
    return %15 : tensor<3xf32>
  }
  func.func private @_where_1(%arg0: tensor<3xi1>, %arg1: tensor<3xi32>, %arg2: tensor<3xi32>) -> tensor<3xi32> {
    %0 = stablehlo.select %arg0, %arg1, %arg2 : tensor<3xi1>, tensor<3xi32>
    return %0 : tensor<3xi32>
  }
  func.func private @_one_hot(%arg0: tensor<3xi32>) -> tensor<3x6xf32> {
    %0 = stablehlo.broadcast_in_dim %arg0, dims = [0] : (tensor<3xi32>) -> tensor<3x1xi32>
    %1 = stablehlo.iota dim = 1 : tensor<1x6xi32>
    %2 = stablehlo.broadcast_in_dim %0, dims = [0, 1] : (tensor<3x1xi32>) -> tensor<3x6xi32>
    %3 = stablehlo.broadcast_in_dim %1, dims = [0, 1] : (tensor<1x6xi32>) -> tensor<3x6xi32>
    %4 = stablehlo.compare EQ, %2, %3, SIGNED : (tensor<3x6xi32>, tensor<3x6xi32>) -> tensor<3x6xi1>
    %5 = stablehlo.convert %4 : (tensor<3x6xi1>) -> tensor<3x6xf32>
    return %5 : tensor<3x6xf32>
  }
  func.func private @sort(%arg0: tensor<5xf32>) -> tensor<5xf32> {
    %0 = "stablehlo.sort"(%arg0) <{dimension = 0 : i64, is_stable = true}> ({
    ^bb0(%arg1: tensor<f32>, %arg2: tensor<f32>):
      %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
      %1 = stablehlo.compare EQ, %arg1, %cst, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %cst_0 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
      %2 = stablehlo.select %1, %cst_0, %arg1 : tensor<i1>, tensor<f32>
      %3 = stablehlo.compare NE, %arg1, %arg1, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %cst_1 = stablehlo.constant dense<0x7FC00000> : tensor<f32>
      %4 = stablehlo.select %3, %cst_1, %2 : tensor<i1>, tensor<f32>
      %cst_2 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
      %5 = stablehlo.compare EQ, %arg2, %cst_2, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %cst_3 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
      %6 = stablehlo.select %5, %cst_3, %arg2 : tensor<i1>, tensor<f32>
      %7 = stablehlo.compare NE, %arg2, %arg2, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %cst_4 = stablehlo.constant dense<0x7FC00000> : tensor<f32>
      %8 = stablehlo.select %7, %cst_4, %6 : tensor<i1>, tensor<f32>
      %9 = stablehlo.compare LT, %4, %8, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %9 : tensor<i1>
    }) : (tensor<5xf32>) -> tensor<5xf32>
    return %0 : tensor<5xf32>
  }
  func.func private @searchsorted(%arg0: tensor<5xf32>, %arg1: tensor<5xf32>) -> tensor<5xi32> {
    %0 = call @_searchsorted_scan_impl(%arg0, %arg1) : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xi32>
    return %0 : tensor<5xi32>
  }
  func.func private @_searchsorted_scan_impl(%arg0: tensor<5xf32>, %arg1: tensor<5xf32>) -> tensor<5xi32> {
    %0 = call @_searchsorted_scan_impl_2(%arg0, %arg1) : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xi32>
    return %0 : tensor<5xi32>
  }
  func.func private @_searchsorted_scan_impl_2(%arg0: tensor<5xf32>, %arg1: tensor<5xf32>) -> tensor<5xi32> {
    %c = stablehlo.constant dense<0> : tensor<ui32>
    %0 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<ui32>) -> tensor<5xui32>
    %c_0 = stablehlo.constant dense<5> : tensor<ui32>
    %1 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<ui32>) -> tensor<5xui32>
    %c_1 = stablehlo.constant dense<0> : tensor<i32>
    %2:5 = stablehlo.while(%iterArg = %arg0, %iterArg_2 = %arg1, %iterArg_3 = %c_1, %iterArg_4 = %0, %iterArg_5 = %1) : tensor<5xf32>, tensor<5xf32>, tensor<i32>, tensor<5xui32>, tensor<5xui32>
    cond {
      %c_6 = stablehlo.constant dense<3> : tensor<i32>
      %4 = stablehlo.compare LT, %iterArg_3, %c_6, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %4 : tensor<i1>
    } do {
      %4:2 = func.call @closed_call(%iterArg, %iterArg_2, %iterArg_4, %iterArg_5) : (tensor<5xf32>, tensor<5xf32>, tensor<5xui32>, tensor<5xui32>) -> (tensor<5xui32>, tensor<5xui32>)
      %c_6 = stablehlo.constant dense<1> : tensor<i32>
      %5 = stablehlo.add %iterArg_3, %c_6 : tensor<i32>
      stablehlo.return %iterArg, %iterArg_2, %5, %4#0, %4#1 : tensor<5xf32>, tensor<5xf32>, tensor<i32>, tensor<5xui32>, tensor<5xui32>
    }
    %3 = stablehlo.convert %2#4 : (tensor<5xui32>) -> tensor<5xi32>
    return %3 : tensor<5xi32>
  }
  func.func private @closed_call(%arg0: tensor<5xf32>, %arg1: tensor<5xf32>, %arg2: tensor<5xui32>, %arg3: tensor<5xui32>) -> (tensor<5xui32>, tensor<5xui32>) {
    %0 = stablehlo.subtract %arg3, %arg2 : tensor<5xui32>
    %c = stablehlo.constant dense<2> : tensor<i32>
    %1 = call @floor_divide(%0, %c) : (tensor<5xui32>, tensor<i32>) -> tensor<5xui32>
    %2 = stablehlo.add %arg2, %1 : tensor<5xui32>
    %3 = stablehlo.broadcast_in_dim %2, dims = [0] : (tensor<5xui32>) -> tensor<5x1xui32>
    %4 = "stablehlo.gather"(%arg0, %3) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1>}> : (tensor<5xf32>, tensor<5x1xui32>) -> tensor<5x1xf32>
    %5 = stablehlo.reshape %4 : (tensor<5x1xf32>) -> tensor<5xf32>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %6 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<5xf32>
    %7 = stablehlo.compare EQ, %arg1, %6, FLOAT : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xi1>
    %cst_0 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %8 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<5xf32>
    %9 = stablehlo.select %7, %8, %arg1 : tensor<5xi1>, tensor<5xf32>
    %10 = stablehlo.compare NE, %arg1, %arg1, FLOAT : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xi1>
    %cst_1 = stablehlo.constant dense<0x7FC00000> : tensor<f32>
    %11 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<5xf32>
    %12 = stablehlo.select %10, %11, %9 : tensor<5xi1>, tensor<5xf32>
    %cst_2 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %13 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<5xf32>
    %14 = stablehlo.compare EQ, %5, %13, FLOAT : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xi1>
    %cst_3 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %15 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f32>) -> tensor<5xf32>
    %16 = stablehlo.select %14, %15, %5 : tensor<5xi1>, tensor<5xf32>
    %17 = stablehlo.compare NE, %5, %5, FLOAT : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xi1>
    %cst_4 = stablehlo.constant dense<0x7FC00000> : tensor<f32>
    %18 = stablehlo.broadcast_in_dim %cst_4, dims = [] : (tensor<f32>) -> tensor<5xf32>
    %19 = stablehlo.select %17, %18, %16 : tensor<5xi1>, tensor<5xf32>
    %20 = stablehlo.compare LE, %12, %19, TOTALORDER : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xi1>
    %21 = stablehlo.select %20, %arg2, %2 : tensor<5xi1>, tensor<5xui32>
    %22 = stablehlo.select %20, %2, %arg3 : tensor<5xi1>, tensor<5xui32>
    return %21, %22 : tensor<5xui32>, tensor<5xui32>
  }
  func.func private @floor_divide(%arg0: tensor<5xui32>, %arg1: tensor<i32>) -> tensor<5xui32> {
    %0 = stablehlo.convert %arg1 : (tensor<i32>) -> tensor<ui32>
    %1 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<ui32>) -> tensor<5xui32>
    %2 = stablehlo.divide %arg0, %1 : tensor<5xui32>
    return %2 : tensor<5xui32>
  }
}
