/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Included by kp_insn_vector.S: cases with 64-bit operands or addresses, or with registers of
 * 64-bit mode.
 */

GROUP KP_SSE
.irp op, movups, movdqu, movupd, lddqu
	CASE "\op (%rbx), %xmm0", flags=KP_FPU
	CASE "\op kp_insn_mem+16(%rip), %xmm9", flags=KP_FPU
.endr
	CASE "movups %xmm1, 3(%rbx)", flags=KP_FPU
	CASE "movaps %xmm2, (%rbx)", flags=KP_FPU
	CASE "movaps kp_insn_mem+32(%rip), %xmm15", flags=KP_FPU
	CASE "movdqa %xmm3, %xmm12", flags=KP_FPU
	CASE "movdqu %xmm8, kp_insn_mem+5(%rip)", flags=KP_FPU
	CASE "movntdq %xmm4, 16(%rbx)", flags=KP_FPU
	CASE "movntdqa (%rbx), %xmm4", flags=KP_FPU, feature=X86_FEATURE_XMM4_1
	CASE "movss (%rbx), %xmm5", flags=KP_FPU
	CASE "movsd %xmm6, 8(%rbx)", flags=KP_FPU
	CASE "movq %rax, %xmm7", flags=KP_FPU
	CASE "movq %xmm7, %rdx", flags=KP_FPU
	CASE "movhps (%rbx), %xmm1", flags=KP_FPU
	CASE "movlps %xmm1, (%rbx)", flags=KP_FPU
	CASE "movmskps %xmm9, %eax", flags=KP_FPU
	CASE "pinsrw $2, (%rbx), %xmm1", flags=KP_FPU
	CASE "pextrq $1, %xmm1, %rax", flags=KP_FPU, feature=X86_FEATURE_XMM4_1
.irp op, pxor, por, pand, paddd, paddq, psubsb, psubsw, psubb, pcmpeqb, pcmpeqw, pcmpeqd, \
	punpckhbw, packuswb, pmaddwd, pavgb, psadbw, pmuludq
	CASE "\op kp_insn_mem+64(%rip), %xmm10", flags=KP_FPU
.endr
	CASE "pshufhw $0x1b, (%rbx), %xmm5", flags=KP_FPU
	CASE "pshufb (%rbx), %xmm3", flags=KP_FPU, feature=X86_FEATURE_SSSE3
	CASE "palignr $5, kp_insn_mem+80(%rip), %xmm3", flags=KP_FPU, feature=X86_FEATURE_SSSE3
	CASE "pcmpistri $0x18, (%rbx), %xmm2", flags=KP_FPU, feature=X86_FEATURE_XMM4_2
	CASE "ptest (%rbx), %xmm2", flags=KP_FPU, feature=X86_FEATURE_XMM4_1
	CASE "aeskeygenassist $1, (%rbx), %xmm4", flags=KP_FPU, feature=X86_FEATURE_AES
	CASE "pclmulqdq $0x10, (%rbx), %xmm2", flags=KP_FPU, feature=X86_FEATURE_PCLMULQDQ
	CASE "mulpd (%rbx), %xmm1", flags=KP_FPU
	CASE "cmpps $2, kp_insn_mem+96(%rip), %xmm1", flags=KP_FPU
	CASE "cvtsi2sd %rax, %xmm5", flags=KP_FPU
	CASE "cvttsd2si (%rbx), %rax", flags=KP_FPU
	CASE "stmxcsr (%rbx)", flags=KP_FPU
	CASE "ldmxcsr (%rbx)", pre="stmxcsr (%rbx)", flags=KP_FPU
	CASE "fstpl (%rbx)", pre="fninit; fldpi", flags=KP_FPU
	CASE "faddp", pre="fninit; fld1; fldpi", post="fstpl (%rbx)", flags=KP_FPU
	CASE "fildll kp_insn_mem+104(%rip)", pre="fninit", post="fstpt (%rbx)", flags=KP_FPU
	CASE "fnstcw (%rbx)", pre="fninit", flags=KP_FPU
	CASE "movq (%rbx), %mm1", post="movq %mm1, 8(%rbx); emms", flags=KP_FPU
	CASE "paddw %mm1, %mm2", pre="movq (%rbx), %mm1; movq 8(%rbx), %mm2", \
		post="movq %mm2, (%rbx); emms", flags=KP_FPU
	CASE "fxsave64 (%rbx)", pre="lea kp_insn_mem+256(%rip), %rbx", flags=KP_FPU

GROUP KP_AVX
.irp op, vpaddd, vpsubsb, vpsubsw, vpor, vpcmpeqb, vpcmpeqw, vpcmpeqd, vpxor, vpmaddwd, \
	vpunpckhbw, vpackuswb, vpavgb, vpsubq, vpmuludq
	CASE "\op (%rbx), %xmm9, %xmm10", flags=KP_FPU, feature=X86_FEATURE_AVX
	CASE "\op kp_insn_mem+32(%rip), %xmm9, %xmm10", flags=KP_FPU, feature=X86_FEATURE_AVX
	CASE "\op %ymm4, %ymm12, %ymm3", flags=KP_FPU, feature=X86_FEATURE_AVX2
.endr
	CASE "vmovups (%rbx), %ymm0", flags=KP_FPU, feature=X86_FEATURE_AVX
	CASE "vmovups %ymm8, 7(%r12)", flags=KP_FPU, feature=X86_FEATURE_AVX
	CASE "vmovdqa kp_insn_mem+64(%rip), %ymm3", flags=KP_FPU, feature=X86_FEATURE_AVX
	CASE "vmovdqu %ymm15, kp_insn_mem+65(%rip)", flags=KP_FPU, feature=X86_FEATURE_AVX
	CASE "vmovq %rax, %xmm1", flags=KP_FPU, feature=X86_FEATURE_AVX
	CASE "vmovq %xmm1, %r9", flags=KP_FPU, feature=X86_FEATURE_AVX
	CASE "vmovd %xmm9, %ecx", flags=KP_FPU, feature=X86_FEATURE_AVX
	CASE "vmovmskps %ymm9, %eax", flags=KP_FPU, feature=X86_FEATURE_AVX
	CASE "vmovntdq %ymm1, (%rbx)", flags=KP_FPU, feature=X86_FEATURE_AVX
	CASE "vmulpd (%rbx), %ymm2, %ymm3", flags=KP_FPU, feature=X86_FEATURE_AVX
	/* c2 */
	CASE "vcmpsd $1, kp_insn_mem+96(%rip), %xmm2, %xmm3", \
		flags=KP_FPU, feature=X86_FEATURE_AVX
	/* 70 to 77: as if jcc */
	CASE "vpshufhw $0x1b, kp_insn_mem+128(%rip), %xmm2", \
		flags=KP_FPU, feature=X86_FEATURE_AVX
	CASE "vpsllw $3, %xmm8, %xmm2", flags=KP_FPU, feature=X86_FEATURE_AVX
	/* e7, e8 to eb, ff */
	CASE "vpsubsb kp_insn_mem+160(%rip), %xmm1, %xmm8", \
		flags=KP_FPU, feature=X86_FEATURE_AVX
	CASE "vpmaxsw %xmm1, %xmm8, %xmm2", flags=KP_FPU, feature=X86_FEATURE_AVX
	CASE "vpinsrq $1, %rax, %xmm1, %xmm2", flags=KP_FPU, feature=X86_FEATURE_AVX
	CASE "vpextrb $3, %xmm1, (%rbx)", flags=KP_FPU, feature=X86_FEATURE_AVX
	CASE "vextractf128 $1, %ymm1, (%rbx)", flags=KP_FPU, feature=X86_FEATURE_AVX
	CASE "vinsertf128 $1, kp_insn_mem+176(%rip), %ymm1, %ymm2", \
		flags=KP_FPU, feature=X86_FEATURE_AVX
	CASE "vbroadcastss (%rbx), %ymm2", flags=KP_FPU, feature=X86_FEATURE_AVX
	CASE "vptest (%rbx), %ymm1", flags=KP_FPU, feature=X86_FEATURE_AVX
	CASE "vcvtsi2sd %rax, %xmm1, %xmm2", flags=KP_FPU, feature=X86_FEATURE_AVX
	CASE "vcvttsd2si %xmm1, %rdx", flags=KP_FPU, feature=X86_FEATURE_AVX
	CASE "vpshufb (%rbx), %ymm2, %ymm3", flags=KP_FPU, feature=X86_FEATURE_AVX2
	CASE "vpermd kp_insn_mem+192(%rip), %ymm1, %ymm2", \
		flags=KP_FPU, feature=X86_FEATURE_AVX2
	CASE "vpmovzxbw (%rbx), %ymm1", flags=KP_FPU, feature=X86_FEATURE_AVX2
	CASE "vpmaskmovd %ymm1, %ymm2, (%rbx)", flags=KP_FPU, feature=X86_FEATURE_AVX2
	CASE "vpgatherdd %xmm1, (%rbx, %xmm2, 4), %xmm3", \
		pre="vpxor %xmm2, %xmm2, %xmm2; \
		vpcmpeqd %xmm1, %xmm1, %xmm1", flags=KP_FPU, feature=X86_FEATURE_AVX2
	CASE "vfmadd231sd kp_insn_mem+200(%rip), %xmm2, %xmm3", \
		flags=KP_FPU, feature=X86_FEATURE_FMA
	CASE "vfnmsub132pd (%rbx), %ymm2, %ymm3", flags=KP_FPU, feature=X86_FEATURE_FMA
	CASE "vcvtph2ps (%rbx), %xmm1", flags=KP_FPU, feature=X86_FEATURE_F16C

GROUP KP_BMI
	CASE "andn %rdx, %rax, %rcx", feature=X86_FEATURE_BMI1
	CASE "andn kp_insn_mem+8(%rip), %eax, %ecx", feature=X86_FEATURE_BMI1
	CASE "bextr %rdx, (%rbx), %rax", feature=X86_FEATURE_BMI1
	CASE "blsr %rax, %rdx", feature=X86_FEATURE_BMI1
	CASE "blsi (%rbx), %r14", feature=X86_FEATURE_BMI1
	CASE "bzhi %rax, %rdx, %r9", feature=X86_FEATURE_BMI2
	CASE "mulx kp_insn_mem+16(%rip), %rax, %rcx", feature=X86_FEATURE_BMI2
	CASE "pdep %rax, %rdx, %r10", feature=X86_FEATURE_BMI2
	CASE "pext (%rbx), %rdx, %rax", feature=X86_FEATURE_BMI2
	CASE "rorx $13, %rax, %rdx", feature=X86_FEATURE_BMI2
	CASE "rorx $7, kp_insn_mem+24(%rip), %r8", feature=X86_FEATURE_BMI2
	CASE "shlx %rcx, %rax, %rdx", feature=X86_FEATURE_BMI2
	CASE "sarx %eax, (%rbx), %r11d", feature=X86_FEATURE_BMI2
	CASE "shrx %r9, kp_insn_mem+32(%rip), %r14", feature=X86_FEATURE_BMI2

GROUP KP_EVEX
	CASE "vmovdqu64 (%rbx), %zmm0", flags=KP_FPU, feature=X86_FEATURE_AVX512F
	CASE "vmovdqu64 %zmm17, 64(%rbx)", flags=KP_FPU, feature=X86_FEATURE_AVX512F
	CASE "vmovdqa32 kp_insn_mem+64(%rip), %zmm31", flags=KP_FPU, feature=X86_FEATURE_AVX512F
	CASE "vpord %zmm1, %zmm20, %zmm3", flags=KP_FPU, feature=X86_FEATURE_AVX512F
	CASE "vpxorq kp_insn_mem+128(%rip){1to8}, %zmm2, %zmm3", \
		flags=KP_FPU, feature=X86_FEATURE_AVX512F
	CASE "vpsrad $3, (%rbx), %zmm3", flags=KP_FPU, feature=X86_FEATURE_AVX512F
