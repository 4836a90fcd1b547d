//! Copying memory.
//!
//! A start copies thousands of small pieces. musl's copy is one instruction that repeats, which takes as long to begin
//! as a small piece takes altogether: a tenth of the program's own time. This one loads a small piece whole and stores
//! it whole, so that pieces may overlap, and leaves the large ones to that instruction. The program that is linked
//! with musl uses it under the C library's names.

#![expect(unsafe_code, reason = "assembly")]

std::arch::global_asm!(
    ".globl stockade_copy",
    ".hidden stockade_copy",
    ".type stockade_copy, @function",
    ".p2align 4",
    // To rdi, from rsi, rdx bytes; returns rdi.
    "stockade_copy:",
    "mov rax, rdi",
    "cmp rdx, 16",
    "jb 2f",
    "cmp rdx, 32",
    "ja 4f",
    "movups xmm0, [rsi]",
    "movups xmm1, [rsi + rdx - 16]",
    "movups [rdi], xmm0",
    "movups [rdi + rdx - 16], xmm1",
    "ret",
    // Less than 16.
    "2:",
    "cmp edx, 8",
    "jb 3f",
    "mov rcx, [rsi]",
    "mov r8, [rsi + rdx - 8]",
    "mov [rdi], rcx",
    "mov [rdi + rdx - 8], r8",
    "ret",
    // Less than 8.
    "3:",
    "cmp edx, 4",
    "jb 3f",
    "mov ecx, [rsi]",
    "mov r8d, [rsi + rdx - 4]",
    "mov [rdi], ecx",
    "mov [rdi + rdx - 4], r8d",
    "ret",
    // Up to 3: the first, the middle and the last byte.
    "3:",
    "test edx, edx",
    "jz 3f",
    "mov r10, rdx",
    "shr r10, 1",
    "movzx ecx, byte ptr [rsi]",
    "movzx r8d, byte ptr [rsi + r10]",
    "movzx r9d, byte ptr [rsi + rdx - 1]",
    "mov [rdi], cl",
    "mov [rdi + r10], r8b",
    "mov [rdi + rdx - 1], r9b",
    "3:",
    "ret",
    // More than 32.
    "4:",
    "cmp rdx, 64",
    "ja 5f",
    "movups xmm0, [rsi]",
    "movups xmm1, [rsi + 16]",
    "movups xmm2, [rsi + rdx - 32]",
    "movups xmm3, [rsi + rdx - 16]",
    "movups [rdi], xmm0",
    "movups [rdi + 16], xmm1",
    "movups [rdi + rdx - 32], xmm2",
    "movups [rdi + rdx - 16], xmm3",
    "ret",
    // More than 64: what lies ahead may be overwritten, so the direction matters.
    "5:",
    "mov rcx, rdi",
    "sub rcx, rsi",
    "cmp rcx, rdx",
    "jb 7f",
    "cmp rdx, 1024",
    "jae 8f",
    // Forwards. The end is loaded before anything is stored.
    "movups xmm4, [rsi + rdx - 64]",
    "movups xmm5, [rsi + rdx - 48]",
    "movups xmm6, [rsi + rdx - 32]",
    "movups xmm7, [rsi + rdx - 16]",
    "lea r8, [rdi + rdx - 64]",
    "6:",
    "movups xmm0, [rsi]",
    "movups xmm1, [rsi + 16]",
    "movups xmm2, [rsi + 32]",
    "movups xmm3, [rsi + 48]",
    "movups [rdi], xmm0",
    "movups [rdi + 16], xmm1",
    "movups [rdi + 32], xmm2",
    "movups [rdi + 48], xmm3",
    "add rsi, 64",
    "add rdi, 64",
    "sub rdx, 64",
    "cmp rdx, 64",
    "ja 6b",
    "movups [r8], xmm4",
    "movups [r8 + 16], xmm5",
    "movups [r8 + 32], xmm6",
    "movups [r8 + 48], xmm7",
    "ret",
    // Backwards. The beginning is loaded before anything is stored.
    "7:",
    "movups xmm4, [rsi]",
    "movups xmm5, [rsi + 16]",
    "movups xmm6, [rsi + 32]",
    "movups xmm7, [rsi + 48]",
    "7:",
    "movups xmm0, [rsi + rdx - 64]",
    "movups xmm1, [rsi + rdx - 48]",
    "movups xmm2, [rsi + rdx - 32]",
    "movups xmm3, [rsi + rdx - 16]",
    "movups [rdi + rdx - 64], xmm0",
    "movups [rdi + rdx - 48], xmm1",
    "movups [rdi + rdx - 32], xmm2",
    "movups [rdi + rdx - 16], xmm3",
    "sub rdx, 64",
    "cmp rdx, 64",
    "ja 7b",
    "movups [rdi], xmm4",
    "movups [rdi + 16], xmm5",
    "movups [rdi + 32], xmm6",
    "movups [rdi + 48], xmm7",
    "ret",
    "8:",
    "mov rcx, rdx",
    "rep movsb",
    "ret",
    ".size stockade_copy, . - stockade_copy",
);

#[cfg(target_env = "musl")]
std::arch::global_asm!(
    ".globl memcpy",
    ".globl memmove",
    ".set memcpy, stockade_copy",
    ".set memmove, stockade_copy",
);

#[cfg(test)]
mod tests {
    unsafe extern "C" {
        fn stockade_copy(to: *mut u8, from: *const u8, length: usize) -> *mut u8;
    }

    /// A place of bytes that are all different from their neighbours, some of which are copied to elsewhere in it.
    fn check(from: usize, to: usize, length: usize) {
        let before: Vec<u8> = (0..8192_usize).map(|at| (at * 7 + at / 256) as u8).collect();
        let mut expected = before.clone();
        expected[to..to + length].copy_from_slice(&before[from..from + length]);
        let mut place = before.clone();
        let start = place.as_mut_ptr();
        // SAFETY: both ranges lie within the place, and the function lets them overlap.
        let told = unsafe { stockade_copy(start.add(to), start.add(from), length) };
        assert_eq!(told as usize - start as usize, to);
        assert!(place == expected, "{length} bytes from {from} to {to}");
    }

    #[test]
    fn every_length_at_every_distance() {
        for length in (0..300).chain([511, 512, 513, 1000, 1023, 1024, 1025, 1500]) {
            for distance in [0, 1, 2, 3, 7, 8, 15, 16, 17, 31, 33, 63, 64, 65, 127, 128, 500, 1600] {
                for from in [1600, 1601, 1607] {
                    check(from, from + distance, length);
                    check(from, from - distance, length);
                }
            }
        }
    }
}
