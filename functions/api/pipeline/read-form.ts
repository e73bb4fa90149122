/** A form with one text and one file, as multipart/form-data. */
import type { Fault } from '../../../lib/api/errors.ts';

export type ReadForm =
  | { readonly kind: 'read'; readonly text: string; readonly file: Uint8Array }
  | { readonly kind: 'refused'; readonly faults: readonly Fault[] };

export const isForm = (contentType: string | undefined): boolean => /^multipart\/form-data\s*(;|$)/i.test(contentType ?? '');

export async function readForm(
  bytes: Uint8Array,
  contentType: string,
  names: { readonly text: string; readonly file: string },
): Promise<ReadForm> {
  const form = await parsed(bytes, contentType);
  if (form === undefined) return refused('', 'not_multipart', 'the body is not multipart/form-data as its content type says');
  const known: readonly string[] = Object.values(names);
  const strange = [...form.keys()].find((name) => !known.includes(name));
  if (strange !== undefined) return refused(`/${strange}`, 'unknown_key', `nothing is called ${strange} here`);
  const single = (name: string) => (form.getAll(name).length === 1 ? form.get(name) : null);
  const [text, file] = [single(names.text), single(names.file)];
  if (text === null) return refused('', 'part_missing', `one part "${names.text}" is required`);
  if (file === null || typeof file === 'string') return refused('', 'part_missing', `one file "${names.file}" is required`);
  return {
    kind: 'read',
    text: typeof text === 'string' ? text : await text.text(),
    file: new Uint8Array(await file.arrayBuffer()),
  };
}

const parsed = async (bytes: Uint8Array, contentType: string): Promise<FormData | undefined> => {
  try {
    return await new Response(Buffer.from(bytes), { headers: { 'content-type': contentType } }).formData();
  } catch {
    return undefined;
  }
};

const refused = (place: string, code: string, message: string): ReadForm => ({
  kind: 'refused',
  faults: [{ place, code, message }],
});
