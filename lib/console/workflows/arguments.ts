/** The declared arguments of a workflow, and the input that a form with them makes. */
import { type JsonObject, type JsonValue, isJsonArray, isJsonObject } from '../../engine/json.ts';
import { formJson, formText } from '../primitives/form-text.ts';

const types = ['string', 'number', 'boolean', 'object', 'array'] as const;

export interface DeclaredArgument {
  readonly name: string;
  readonly type: (typeof types)[number];
  readonly required: boolean;
  readonly initial: JsonValue | undefined;
}

/** @param options of a definition that the server has accepted */
export function argumentsOf(options: JsonObject): readonly DeclaredArgument[] {
  const declared = options['args'];
  if (!isJsonArray(declared)) return [];
  return declared.flatMap((each): DeclaredArgument[] => {
    if (!isJsonObject(each)) return [];
    const { name, required, default: initial } = each;
    const type = types.find((known) => known === each['type']);
    return typeof name === 'string' && type !== undefined ? [{ name, type, required: required === true, initial }] : [];
  });
}

/** An empty field is no value. An argument that the type rejects is refused by the server, with its pointer. */
export function inputOf(form: FormData, declared: readonly DeclaredArgument[]): JsonObject {
  return Object.fromEntries(
    declared.flatMap(({ name, type }): [string, JsonValue][] => {
      const text = formText(form, name);
      if (text === '') return [];
      if (type === 'string') return [[name, text]];
      return type === 'number' ? [[name, Number(text)]] : [[name, formJson(form, name)]];
    }),
  );
}
