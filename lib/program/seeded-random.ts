/** A seeded pseudorandom generator: cyrb128 hashes the seed, sfc32 generates numbers (both public domain). */
export interface SeededRandom {
  /** from 0 up to 1 */
  random(): number;
  /** version 4 by its form (RFC 9562) */
  uuid(): string;
}

export function createSeededRandom(seed: string): SeededRandom {
  let [a, b, c, d] = initialState(seed);
  const next = (): number => {
    const sum = (((a + b) | 0) + d) | 0;
    d = (d + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = ((c << 21) | (c >>> 11)) + sum;
    return sum >>> 0;
  };
  // The first outputs correlate with the seed.
  for (let round = 0; round < 15; round += 1) next();
  return {
    random: () => next() / 2 ** 32,
    uuid: () => {
      const hex = [next(), next(), next(), next()].map((word) => word.toString(16).padStart(8, '0')).join('');
      const variant = ((Number.parseInt(hex.charAt(16), 16) & 3) | 8).toString(16);
      return [hex.slice(0, 8), hex.slice(8, 12), `4${hex.slice(13, 16)}`, `${variant}${hex.slice(17, 20)}`, hex.slice(20)].join(
        '-',
      );
    },
  };
}

function initialState(text: string): [number, number, number, number] {
  let [a, b, c, d] = [1779033703, 3144134277, 1013904242, 2773480762];
  for (let index = 0; index < text.length; index += 1) {
    const codeUnit = text.charCodeAt(index);
    a = b ^ Math.imul(a ^ codeUnit, 597399067);
    b = c ^ Math.imul(b ^ codeUnit, 2869860233);
    c = d ^ Math.imul(c ^ codeUnit, 951274213);
    d = a ^ Math.imul(d ^ codeUnit, 2716044179);
  }
  a = Math.imul(c ^ (a >>> 18), 597399067);
  b = Math.imul(d ^ (b >>> 22), 2869860233);
  c = Math.imul(a ^ (c >>> 17), 951274213);
  d = Math.imul(b ^ (d >>> 19), 2716044179);
  return [a ^ b ^ c ^ d, b ^ a, c ^ a, d ^ a];
}
