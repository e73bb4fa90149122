/** Fields of a form, as text and as JSON. */
import type { JsonValue } from '../../engine/json.ts';

/** Empty if there is no such field. */
export function formText(form: FormData, name: string): string {
  const value = form.get(name);
  return typeof value === 'string' ? value : '';
}

/** The value of a field whose text is JSON. The dialog shows the error, which says where the text stops being JSON. */
export const formJson = (form: FormData, name: string): JsonValue => jsonOf(formText(form, name));

export function jsonOf(text: string): JsonValue {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new SyntaxError(`The text is not JSON: ${error instanceof Error ? error.message : String(error)}`);
  }
}
