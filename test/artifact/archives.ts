/** Archives for tests: valid and malicious ones. */
import { gzipSync } from 'node:zlib';
import { type Header, pack } from 'tar-stream';

export const bytesOf = (text: string): Uint8Array => Buffer.from(text);

type Entry = Partial<Header> & { readonly name: string; readonly content?: string | Uint8Array };

export const tarOf = async (entries: readonly Entry[]): Promise<Buffer> => {
  const tar = pack();
  for (const { content = '', ...header } of entries) tar.entry({ type: 'file', ...header }, Buffer.from(content));
  tar.finalize();
  const parts: Uint8Array[] = [];
  for await (const part of tar) if (part instanceof Uint8Array) parts.push(part);
  return Buffer.concat(parts);
};

export const archiveOf = async (entries: readonly Entry[]): Promise<Buffer> => gzipSync(await tarOf(entries));
