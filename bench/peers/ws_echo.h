/* An echo of WebSocket frames (RFC 6455) that checks nothing: the handshake's
   answer, then each frame unmasked and sent back as it comes. */
#include <stdint.h>
#include <string.h>

/* Where a connection is: in a frame's head, of which `head_len` octets are kept,
   or in its payload, of which `left` octets are to come. */
struct echo { unsigned char head[14], key[4]; unsigned head_len, at; uint64_t left; int is_open; };

static uint32_t turned(uint32_t value, int bits) { return value << bits | value >> (32 - bits); }

static void sha1_block(uint32_t state[5], const unsigned char *block) {
    uint32_t word[80], a = state[0], b = state[1], c = state[2], d = state[3], e = state[4];
    for (int i = 0; i < 16; i++)
        word[i] = (uint32_t)block[4 * i] << 24 | (uint32_t)block[4 * i + 1] << 16 |
                  (uint32_t)block[4 * i + 2] << 8 | block[4 * i + 3];
    for (int i = 16; i < 80; i++)
        word[i] = turned(word[i - 3] ^ word[i - 8] ^ word[i - 14] ^ word[i - 16], 1);
    for (int i = 0; i < 80; i++) {
        uint32_t mixed = i < 20 ? (b & c) | (~b & d) : i < 40 ? b ^ c ^ d
                       : i < 60 ? (b & c) | (b & d) | (c & d) : b ^ c ^ d;
        static const uint32_t constants[4] = {0x5a827999, 0x6ed9eba1, 0x8f1bbcdc, 0xca62c1d6};
        uint32_t next = turned(a, 5) + mixed + e + constants[i / 20] + word[i];
        e = d; d = c; c = turned(b, 30); b = a; a = next;
    }
    state[0] += a; state[1] += b; state[2] += c; state[3] += d; state[4] += e;
}

/* Writes the 28 characters that answer a key of 24: base64 of the SHA-1 of the
   key and the protocol's own name (RFC 6455 section 4.2.2). */
static void accept_key(const char *key, char *to) {
    static const char name[] = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    unsigned char text[128] = {0}, hash[21] = {0};
    uint32_t state[5] = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0};
    memcpy(text, key, 24);
    memcpy(text + 24, name, 36);
    text[60] = 0x80;
    text[126] = (60 * 8) >> 8;
    text[127] = (60 * 8) & 255;
    sha1_block(state, text);
    sha1_block(state, text + 64);
    for (int i = 0; i < 20; i++) hash[i] = (unsigned char)(state[i / 4] >> (24 - 8 * (i % 4)));
    for (int i = 0; i < 7; i++) {
        uint32_t three = (uint32_t)hash[3 * i] << 16 | (uint32_t)hash[3 * i + 1] << 8 | hash[3 * i + 2];
        for (int j = 0; j < 4; j++) to[4 * i + j] = digits[three >> (18 - 6 * j) & 63];
    }
    to[27] = '=';
}

/* Answers the handshake; gives the octets written. */
static size_t answer_handshake(struct echo *echo, char *head, size_t length, char *to) {
    static const char field[] = "Sec-WebSocket-Key: ";
    static const char answer[] = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n"
                                 "Connection: Upgrade\r\nSec-WebSocket-Accept: ";
    char *key = memmem(head, length, field, sizeof field - 1);
    if (!key || key + sizeof field - 1 + 24 > head + length) return 0;
    memset(echo, 0, sizeof *echo);
    echo->is_open = 1;
    memcpy(to, answer, sizeof answer - 1);
    accept_key(key + sizeof field - 1, to + sizeof answer - 1);
    memcpy(to + sizeof answer - 1 + 28, "\r\n\r\n", 4);
    return sizeof answer - 1 + 32;
}

static unsigned head_size(const struct echo *echo) {
    if (echo->head_len < 2) return 2;
    unsigned code = echo->head[1] & 127;
    return 6 + (code == 126 ? 2 : code == 127 ? 8 : 0);
}

/* Starts a frame whose head is whole; writes the head of its echo. */
static size_t begin_frame(struct echo *echo, unsigned size, char *to) {
    unsigned count = size - 4;          /* what stands before the key */
    uint64_t length = echo->head[1] & 127;
    if (count > 2) length = 0;
    for (unsigned i = 2; i < count; i++) length = length << 8 | echo->head[i];
    memcpy(echo->key, echo->head + count, 4);
    memcpy(to, echo->head, count);
    to[1] &= 127;                       /* a server does not mask */
    echo->head_len = echo->at = 0;
    echo->left = length;
    return count;
}

/* Unmasks eight octets at a time. */
static void unmask(struct echo *echo, const char *from, char *to, size_t count) {
    unsigned char key[8];
    uint64_t wide, eight;
    for (unsigned i = 0; i < 8; i++) key[i] = echo->key[(echo->at + i) & 3];
    memcpy(&wide, key, 8);
    size_t i = 0;
    for (; i + 8 <= count; i += 8) {
        memcpy(&eight, from + i, 8);
        eight ^= wide;
        memcpy(to + i, &eight, 8);
    }
    for (; i < count; i++) to[i] = (char)(from[i] ^ (char)key[i & 7]);
    echo->at = (echo->at + count) & 3;
}

/* Echoes what came; gives the octets written, at most `got` of them. */
static size_t answer_frames(struct echo *echo, const char *from, size_t got, char *to) {
    size_t at = 0, length = 0;
    while (at < got) {
        if (echo->left) {
            size_t here = got - at < echo->left ? got - at : (size_t)echo->left;
            unmask(echo, from + at, to + length, here);
            at += here;
            length += here;
            echo->left -= here;
            continue;
        }
        echo->head[echo->head_len++] = (unsigned char)from[at++];
        unsigned size = head_size(echo);
        if (echo->head_len > 2 && echo->head_len == size) length += begin_frame(echo, size, to + length);
    }
    return length;
}
