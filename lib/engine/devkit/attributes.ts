/** The attributes of a run: short text that the application sets, in names of its own. */
import type { AttributeChange } from './fold.ts';

/** The limits of the Workflow DevKit. */
const maxAttributes = 64;
const maxKeyLength = 256;
const maxValueBytes = 256;
/** Names with this beginning belong to frameworks. */
const reservedPrefix = '$';

/** @returns what is wrong with the changes; undefined: nothing */
export function attributeError(
  changes: readonly AttributeChange[],
  existing: Readonly<Record<string, string>>,
  allowsReserved: boolean,
): string | undefined {
  const keys = new Set<string>();
  for (const { key, value } of changes) {
    if (key.length === 0 || key.length > maxKeyLength) return `an attribute's key has 1 to ${maxKeyLength} characters`;
    if (!allowsReserved && key.startsWith(reservedPrefix))
      return `the key ${key} begins with ${reservedPrefix}, which is reserved`;
    if (keys.has(key)) return `the key ${key} appears twice`;
    keys.add(key);
    if (value !== null && bytesIn(value) > maxValueBytes) return `the value of ${key} has more than ${maxValueBytes} bytes`;
  }
  const remaining = new Set(Object.keys(existing));
  for (const { key, value } of changes) {
    if (value === null) remaining.delete(key);
    else remaining.add(key);
  }
  return remaining.size > maxAttributes ? `a run has at most ${maxAttributes} attributes` : undefined;
}

/** In UTF-8. */
function bytesIn(text: string): number {
  let bytes = 0;
  for (const character of text) {
    const code = character.codePointAt(0) ?? 0;
    bytes += code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x1_0000 ? 3 : 4;
  }
  return bytes;
}
