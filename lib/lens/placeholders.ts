/**
 * Parses the placeholders of a template: `[[label]]`, `{{label}}` and `[ label ]` are equivalent. Labels are compared
 * without case and spaces. `!` after the label makes it optional, `:type` declares the type of the value. A backslash before
 * the brackets escapes them. Brackets around anything else, such as JSON or a link, are text.
 */
import { defined } from '../base/defined.ts';
import { type FieldType, fieldTypes } from '../ports/lenses.ts';

export interface Placeholder {
  /** as the author wrote it */
  readonly label: string;
  /** normalized label for comparison */
  readonly key: string;
  readonly isOptional: boolean;
  readonly type?: FieldType;
}

export type TemplatePart = { readonly text: string } | { readonly placeholder: Placeholder };

/** Normalizes a label for comparison: lower case, without spaces. */
export const labelKey = (label: string): string => label.toLowerCase().replaceAll(/\s+/g, '');

/** All repetitions are bounded, so that a template full of brackets takes linear time. */
const label = String.raw`([\p{L}_](?:[\p{L}\p{N}_ .-]{0,126}[\p{L}\p{N}_])?)`;
const modifiers = String.raw`(!?)(?: ?: ?([A-Za-z]{1,20}))?(!?)`;
const forms = [
  new RegExp(String.raw`\[\[ {0,8}${label} {0,8}${modifiers} {0,8}\]\]`, 'uy'),
  new RegExp(String.raw`\{\{ {0,8}${label} {0,8}${modifiers} {0,8}\}\}`, 'uy'),
  // Single brackets need spaces inside: without them they are a link or a list.
  new RegExp(String.raw`\[ {1,8}${label}${modifiers} {1,8}\]`, 'uy'),
];
const specialCharacter = /[[{\\]/g;
const escaped = /\\(?=\[\[|\{\{|\[ )/y;

/** @returns the parts, and the placeholders with an unknown type */
export function parseTemplate(template: string): {
  readonly parts: readonly TemplatePart[];
  readonly unknownTypes: readonly { readonly label: string; readonly type: string }[];
} {
  const parts: TemplatePart[] = [];
  const unknownTypes: { label: string; type: string }[] = [];
  let text = '';
  let at = 0;
  while (at < template.length) {
    specialCharacter.lastIndex = at;
    const next = specialCharacter.exec(template)?.index ?? template.length;
    text += template.slice(at, next);
    at = next;
    if (at === template.length) break;
    if (matchAt(escaped, template, at) !== null) {
      const opening = template.startsWith('[ ', at + 1) ? 1 : 2;
      text += template.slice(at + 1, at + 1 + opening);
      at += 1 + opening;
      continue;
    }
    const match = forms.map((form) => matchAt(form, template, at)).find((found) => found !== null);
    if (match === undefined) {
      text += template.charAt(at);
      at += 1;
      continue;
    }
    const [whole, name = '', leading, type, trailing] = match;
    const known = fieldTypes.find((each) => each === type?.toLowerCase());
    if (type !== undefined && known === undefined) unknownTypes.push({ label: name, type });
    if (text !== '') parts.push({ text });
    text = '';
    const isOptional = leading === '!' || trailing === '!';
    parts.push({
      placeholder: defined({ label: name, key: labelKey(name), isOptional, type: known }),
    });
    at += whole.length;
  }
  if (text !== '') parts.push({ text });
  return { parts, unknownTypes };
}

const matchAt = (pattern: RegExp, text: string, at: number): RegExpExecArray | null => {
  pattern.lastIndex = at;
  return pattern.exec(text);
};

/** Each placeholder once: optional if all occurrences are optional, with the type of the first typed occurrence. */
export function placeholdersIn(parts: readonly TemplatePart[]): readonly Placeholder[] {
  const byKey = new Map<string, Placeholder>();
  for (const part of parts) {
    if (!('placeholder' in part)) continue;
    const { placeholder } = part;
    const known = byKey.get(placeholder.key);
    const type = known?.type ?? placeholder.type;
    byKey.set(
      placeholder.key,
      defined({
        label: known?.label ?? placeholder.label,
        key: placeholder.key,
        isOptional: placeholder.isOptional && (known?.isOptional ?? true),
        type,
      }),
    );
  }
  return [...byKey.values()];
}
