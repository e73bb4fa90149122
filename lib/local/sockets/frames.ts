/** Measures the frames of a client (RFC 6455, section 5.2): the WebSocket library reports only whole messages. */

/** Reads the stream in chunks of any size. */
export class FrameLengths {
  /** bytes of an incomplete header */
  #header: Buffer = Buffer.alloc(0);
  /** bytes of the frame's payload that are still to come */
  #remainingBytes = 0;

  /** The lengths of the frames that begin in this chunk, in bytes. */
  read(chunk: Buffer): readonly number[] {
    const lengths: number[] = [];
    let rest = chunk;
    while (rest.length > 0) {
      const content = Math.min(this.#remainingBytes, rest.length);
      this.#remainingBytes -= content;
      rest = rest.subarray(content);
      if (rest.length === 0) break;
      const buffered = Buffer.concat([this.#header, rest]);
      const header = headerIn(buffered);
      if (header === undefined) {
        this.#header = buffered;
        break;
      }
      lengths.push(header.contentBytes);
      this.#remainingBytes = header.contentBytes;
      this.#header = Buffer.alloc(0);
      rest = buffered.subarray(header.bytes);
    }
    return lengths;
  }
}

const isMasked = 0x80;
/** The marker in place of a length that does not fit seven bits. */
const in16Bits = 126;
const in64Bits = 127;
const maskBytes = 4;

/** Undefined where the header is incomplete. */
function headerIn(bytes: Buffer): { readonly bytes: number; readonly contentBytes: number } | undefined {
  const second = bytes[1];
  if (second === undefined) return undefined;
  const lengthField = second & ~isMasked;
  const lengthBytes = lengthField === in64Bits ? 8 : lengthField === in16Bits ? 2 : 0;
  const headerBytes = 2 + lengthBytes + ((second & isMasked) === 0 ? 0 : maskBytes);
  if (bytes.length < headerBytes) return undefined;
  if (lengthBytes === 0) return { bytes: headerBytes, contentBytes: lengthField };
  return { bytes: headerBytes, contentBytes: lengthBytes === 2 ? bytes.readUInt16BE(2) : Number(bytes.readBigUInt64BE(2)) };
}
