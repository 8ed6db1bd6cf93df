// The twelve everyday kernels as a careful CUDA C++ programmer writes them: __restrict__, 32-bit
// indices, the same blocks and the same order of operations as tests/kernels.py.

#define KERNEL extern "C" __global__ void
#define IN const float *__restrict__
#define OUT float *__restrict__

KERNEL saxpy(int n, float a, IN x, OUT y)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = a * x[i] + y[i];
}

KERNEL transpose(IN a, OUT b, int h, int w)
{
    __shared__ float tile[32][33];
    int tx = threadIdx.x, ty = threadIdx.y;
    int x = blockIdx.x * 32 + tx, y = blockIdx.y * 32 + ty;
    for (int j = 0; j < 32; j += 8)
        if (x < w && y + j < h)
            tile[ty + j][tx] = a[(y + j) * w + x];
    __syncthreads();
    x = blockIdx.y * 32 + tx;
    y = blockIdx.x * 32 + ty;
    for (int j = 0; j < 32; j += 8)
        if (x < h && y + j < w)
            b[(y + j) * h + x] = tile[tx][ty + j];
}

KERNEL matmul(IN a, IN b, OUT c, int n)
{
    __shared__ float sa[32][32], sb[32][32];
    int tx = threadIdx.x, ty = threadIdx.y;
    int col = blockIdx.x * 32 + tx, row = blockIdx.y * 32 + ty;
    float acc = 0;
    for (int k = 0; k < n / 32; k++) {
        sa[ty][tx] = a[row * n + k * 32 + tx];
        sb[ty][tx] = b[(k * 32 + ty) * n + col];
        __syncthreads();
        for (int j = 0; j < 32; j++)
            acc += sa[ty][j] * sb[j][tx];
        __syncthreads();
    }
    c[row * n + col] = acc;
}

KERNEL reduce_sum(IN x, float *out, int n)
{
    __shared__ float s[256];
    int tid = threadIdx.x;
    float acc = 0;
    for (int i = blockIdx.x * blockDim.x + tid; i < n; i += gridDim.x * blockDim.x)
        acc += x[i];
    s[tid] = acc;
    __syncthreads();
    for (int w = 128; w > 0; w /= 2) {
        if (tid < w)
            s[tid] += s[tid + w];
        __syncthreads();
    }
    if (tid == 0)
        atomicAdd(out, s[0]);
}

KERNEL nbody(IN px, IN py, IN pz, IN m, OUT ax, OUT ay, OUT az, int n)
{
    __shared__ float sx[256], sy[256], sz[256], sm[256];
    int i = blockIdx.x * blockDim.x + threadIdx.x, t = threadIdx.x;
    float x = px[i], y = py[i], z = pz[i], fx = 0, fy = 0, fz = 0;
    for (int b = 0; b < n / 256; b++) {
        sx[t] = px[b * 256 + t];
        sy[t] = py[b * 256 + t];
        sz[t] = pz[b * 256 + t];
        sm[t] = m[b * 256 + t];
        __syncthreads();
        for (int j = 0; j < 256; j++) {
            float dx = sx[j] - x, dy = sy[j] - y, dz = sz[j] - z;
            float r2 = dx * dx + dy * dy + dz * dz + 1e-6f;
            float inv = 1.0f / sqrtf(r2);
            float s = sm[j] * inv * inv * inv;
            fx += dx * s;
            fy += dy * s;
            fz += dz * s;
        }
        __syncthreads();
    }
    ax[i] = fx;
    ay[i] = fy;
    az[i] = fz;
}

KERNEL mandel(int *out, float x0, float y0, float dx, float dy, int maxit, int h, int w)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y;
    if (i < w && j < h) {
        float cr = x0 + i * dx, ci = y0 + j * dy, zr = 0, zi = 0;
        int n = 0;
        while (n < maxit && zr * zr + zi * zi < 4.0f) {
            float t = zr * zr - zi * zi + cr;
            zi = 2.0f * zr * zi + ci;
            zr = t;
            n++;
        }
        out[j * w + i] = n;
    }
}

KERNEL heat2d(IN a, OUT b, float k, int h, int w)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (0 < x && x < w - 1 && 0 < y && y < h - 1) {
        float around =
            a[(y - 1) * w + x] + a[(y + 1) * w + x] + a[y * w + x - 1] + a[y * w + x + 1];
        b[y * w + x] = a[y * w + x] + k * (around - 4.0f * a[y * w + x]);
    }
}

KERNEL stencil3d(IN a, OUT b, int d, int h, int w)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    int z = blockIdx.z * blockDim.z + threadIdx.z;
    if (0 < x && x < w - 1 && 0 < y && y < h - 1 && 0 < z && z < d - 1) {
        int p = w * h, i = z * p + y * w + x;
        b[i] = (a[i] + a[i - p] + a[i + p] + a[i - w] + a[i + w] + a[i - 1] + a[i + 1]) * 0.142857f;
    }
}

KERNEL blackscholes(IN s, IN k, IN t, float r, float v, OUT call, OUT put, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float sq = sqrtf(t[i]);
        float d1 = (logf(s[i] / k[i]) + (r + 0.5f * v * v) * t[i]) / (v * sq);
        float d2 = d1 - v * sq;
        float n1 = 0.5f * erfcf(-d1 * 0.70710678f), n2 = 0.5f * erfcf(-d2 * 0.70710678f);
        float e = expf(-r * t[i]);
        call[i] = s[i] * n1 - k[i] * e * n2;
        put[i] = k[i] * e * (1.0f - n2) - s[i] * (1.0f - n1);
    }
}

KERNEL histogram(const unsigned char *__restrict__ x, int *bins, int n)
{
    __shared__ int s[256];
    int t = threadIdx.x;
    s[t] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + t; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(&s[x[i]], 1);
    __syncthreads();
    atomicAdd(&bins[t], s[t]);
}

KERNEL softmax(IN x, OUT out, int n)
{
    int row = blockIdx.x, lane = threadIdx.x;
    float m = -1e30f, s = 0;
    for (int j = lane; j < n; j += 32)
        m = fmaxf(m, x[row * n + j]);
    for (int o = 16; o > 0; o /= 2)
        m = fmaxf(m, __shfl_xor_sync(0xffffffff, m, o));
    for (int j = lane; j < n; j += 32)
        s += expf(x[row * n + j] - m);
    for (int o = 16; o > 0; o /= 2)
        s += __shfl_xor_sync(0xffffffff, s, o);
    for (int j = lane; j < n; j += 32)
        out[row * n + j] = expf(x[row * n + j] - m) / s;
}

KERNEL spmv(const int *__restrict__ indptr, const int *__restrict__ indices, IN data, IN x, OUT y,
            int n)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < n) {
        float acc = 0;
        for (int k = indptr[row]; k < indptr[row + 1]; k++)
            acc += data[k] * x[indices[k]];
        y[row] = acc;
    }
}
