/** A form with one text and one file, as multipart/form-data. */
import type { ErrorDetail } from '../../../lib/api/errors.ts';

export type ReadFormResult =
  | { readonly kind: 'read'; readonly text: string; readonly file: Uint8Array }
  | { readonly kind: 'refused'; readonly errors: readonly ErrorDetail[] };

export const isForm = (contentType: string | undefined): boolean => /^multipart\/form-data\s*(;|$)/i.test(contentType ?? '');

export async function readForm(
  bytes: Uint8Array,
  contentType: string,
  names: { readonly text: string; readonly file: string },
): Promise<ReadFormResult> {
  const form = await parseForm(bytes, contentType);
  if (form === undefined) return refuseForm('', 'not_multipart', 'the body is not multipart/form-data as its content type says');
  const expectedFields: readonly string[] = Object.values(names);
  const unknownField = [...form.keys()].find((name) => !expectedFields.includes(name));
  if (unknownField !== undefined) return refuseForm(`/${unknownField}`, 'unknown_key', `nothing is called ${unknownField} here`);
  const singleField = (name: string) => (form.getAll(name).length === 1 ? form.get(name) : null);
  const [text, file] = [singleField(names.text), singleField(names.file)];
  if (text === null) return refuseForm('', 'part_missing', `one part "${names.text}" is required`);
  if (file === null || typeof file === 'string') return refuseForm('', 'part_missing', `one file "${names.file}" is required`);
  return {
    kind: 'read',
    text: typeof text === 'string' ? text : await text.text(),
    file: new Uint8Array(await file.arrayBuffer()),
  };
}

const parseForm = async (bytes: Uint8Array, contentType: string): Promise<FormData | undefined> => {
  try {
    return await new Response(Buffer.from(bytes), { headers: { 'content-type': contentType } }).formData();
  } catch {
    return undefined;
  }
};

const refuseForm = (pointer: string, code: string, message: string): ReadFormResult => ({
  kind: 'refused',
  errors: [{ pointer, code, message }],
});
