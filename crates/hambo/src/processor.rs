//! Which instructions the processor has. Kernels are chosen by them when the program runs, and sums in another order
//! round differently: bits are the same only among processors with the same ones.

/// The widest vectors that kernels use here.
pub(crate) fn instruction_set() -> &'static str {
    #[cfg(target_arch = "x86_64")]
    {
        if is_x86_feature_detected!("avx512f") {
            "x86-64 with AVX-512"
        } else if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
            "x86-64 with AVX2"
        } else {
            "x86-64 without AVX2"
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        std::env::consts::ARCH
    }
}
