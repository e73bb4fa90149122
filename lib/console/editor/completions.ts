/**
 * Completions of `ctx` paths, in scripts and in templates: the names that earlier nodes write, and the keys of the values that are known.
 * In templates that accept them, also the secrets of the project.
 */
import { type JsonValue, isJsonArray, isJsonObject } from '../../engine/json.ts';

export interface KnownName {
  readonly name: string;
  /** the node that writes it; undefined: the input of the run */
  readonly by: string | undefined;
  /** of a pin or of the last test; undefined: not known */
  readonly value: JsonValue | undefined;
}

interface Completion {
  readonly label: string;
  /** what the label means */
  readonly detail: string;
}

interface Completions {
  /** where the completed word begins */
  readonly from: number;
  readonly options: readonly Completion[];
}

const name = String.raw`[\p{ID_Start}_$][\p{ID_Continue}$]*`;
const path = new RegExp(String.raw`(?<![\p{ID_Continue}$.])ctx((?:\.${name}|\[\d+\])*)\.(${name})?$`, 'u');
const root = new RegExp(String.raw`(?<![\p{ID_Continue}$.])(${name})$`, 'u');

const openTemplate = /\{\{\s*([\w:.-]*)$/;

/**
 * @param before the text before the cursor
 * @param secrets names of secrets; undefined: this template accepts none
 */
export function completionsAt(
  before: string,
  names: readonly KnownName[],
  isTemplate: boolean,
  secrets?: readonly string[],
): Completions | undefined {
  if (isTemplate && before.lastIndexOf('{{') <= before.lastIndexOf('}}')) return undefined;
  const [, steps, typed = ''] = path.exec(before) ?? [];
  if (steps !== undefined) {
    const options = steps === '' ? names.map(asCompletion) : keysOf(valueAt(names, steps));
    return options.length === 0 ? undefined : { from: before.length - typed.length, options };
  }
  const begun = (isTemplate ? openTemplate : root).exec(before)?.[1];
  if (begun === undefined) return undefined;
  const roots = isTemplate ? [context, ...(secrets ?? []).map(asSecret)] : [context, inputs];
  if (!roots.some(({ label }) => label.startsWith(begun))) return undefined;
  return { from: before.length - begun.length, options: roots };
}

const context: Completion = { label: 'ctx', detail: 'the context of the run' };
const inputs: Completion = { label: 'inputs', detail: 'the values of the edges' };
const asSecret = (secret: string): Completion => ({ label: `secret:${secret}`, detail: 'a secret' });

const shownType = (value: JsonValue | undefined): string => {
  if (value === undefined) return '';
  if (value === null) return 'null';
  return isJsonArray(value) ? `array of ${value.length}` : typeof value;
};

const asCompletion = ({ name: label, by, value }: KnownName): Completion => ({
  label,
  detail: [by === undefined ? 'the input of the run' : `of ${by}`, shownType(value)].filter((text) => text !== '').join(', '),
});

const keysOf = (value: JsonValue | undefined): readonly Completion[] =>
  isJsonObject(value)
    ? Object.entries(value)
        .filter(([key]) => new RegExp(`^${name}$`, 'u').test(key))
        .map(([label, each]) => ({ label, detail: shownType(each) }))
    : [];

function valueAt(names: readonly KnownName[], steps: string): JsonValue | undefined {
  const [first, ...rest] = [...steps.matchAll(new RegExp(String.raw`\.(${name})|\[(\d+)\]`, 'gu'))].map(
    ([, key, index]) => key ?? index ?? '',
  );
  let value = names.find((each) => each.name === first)?.value;
  for (const step of rest) {
    if (isJsonArray(value)) value = value[Number(step)];
    else value = isJsonObject(value) && Object.hasOwn(value, step) ? value[step] : undefined;
  }
  return value;
}
