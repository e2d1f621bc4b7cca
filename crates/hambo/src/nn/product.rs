//! The product of two matrices, by one thread.

use faer::linalg::matmul::matmul;
use faer::{Accum, MatMut, MatRef, Par};

/// `into = a b`, or `into += a b`.
pub(super) fn product(into: MatMut<'_, f32>, accum: Accum, a: MatRef<'_, f32>, b: MatRef<'_, f32>) {
    matmul(into, accum, a, b, 1.0, Par::Seq);
    clear_upper_halves();
}

/// faer's kernels for x86 (private-gemm-x86 0.1.22) leave values in the upper halves of the vector registers. Until
/// they are cleared, every SSE instruction of this thread waits for them, which makes an exponential take ten times as
/// long.
fn clear_upper_halves() {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx") {
        // SAFETY: the processor has the instruction.
        #[allow(unsafe_code)]
        unsafe {
            std::arch::x86_64::_mm256_zeroupper();
        }
    }
}
