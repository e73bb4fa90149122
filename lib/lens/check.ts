/** Values against JSON Schema, by ajv. Nothing is coerced, no default is filled in, and nothing is fetched. */
import { defined } from '../engine/defined.ts';
import { Ajv2020, type AnySchema, type ErrorObject } from 'ajv/dist/2020.js';
import { RE2JS } from 're2js';
import type { JsonObject, JsonValue } from '../engine/json.ts';

export const contractReasons = [
  'missing_required',
  'type_mismatch',
  'below_min',
  'above_max',
  'too_short',
  'too_long',
  'pattern_mismatch',
  'enum_mismatch',
  'unknown_field',
  'invalid_envelope',
  'schema_violation',
] as const;
type ContractReason = (typeof contractReasons)[number];

export interface ContractError {
  /** dotted; empty for the whole */
  readonly field: string;
  readonly reason: ContractReason;
  readonly details?: string;
}

export type Check = (value: JsonValue) => readonly ContractError[];

/** Errors told at most; and of each, characters of the place, which a model may have named, and of the words. */
const maxErrors = 20;
const maxFieldLength = 256;
const maxDetailsLength = 500;
const maxPatternLength = 1_000;

/** Characters that the patterns of one check look at, more for a large pattern: a few seconds. A check is one piece of synchronous work. */
const maxMatchedCharacters = 20_000_000;
const typicalProgramSize = 100;
let matchedCharacters = 0;

/** Linear in the text, whatever the pattern; look-arounds and back-references do not compile. */
const linearRegExp = Object.assign(
  (pattern: string): { test: (text: string) => boolean; toString: () => string } => {
    if (pattern.length > maxPatternLength) throw new Error(`a pattern has at most ${maxPatternLength} characters`);
    const compiled = RE2JS.compile(pattern);
    // ajv keeps one expression for each of these names.
    const test = (text: string): boolean => {
      matchedCharacters += text.length * (1 + compiled.programSize() / typicalProgramSize);
      if (matchedCharacters > maxMatchedCharacters) throw new RangeError('too much text for the patterns of the contract');
      return compiled.test(text);
    };
    return { test, toString: () => `/${pattern}/` };
  },
  { code: 'RE2JS.compile' },
);

const settings = {
  strict: true,
  strictTypes: false,
  strictTuples: false,
  strictRequired: false,
  allErrors: true,
  validateFormats: false,
  ownProperties: true,
  addUsedSchema: false,
  logger: false,
  code: { regExp: linearRegExp },
} as const;

/** Whether a schema is one is said by a schema that is always the same, and that takes ten times as long to compile. */
class SharedMetaSchemaAjv extends Ajv2020 {
  static #metaSchemaAjv: Ajv2020 | undefined;

  override validateSchema(...[schema, throws]: Parameters<Ajv2020['validateSchema']>): ReturnType<Ajv2020['validateSchema']> {
    return declaresDialect(schema)
      ? super.validateSchema(schema, throws)
      : SharedMetaSchemaAjv.#metaSchema().validateSchema(schema, throws);
  }

  static #metaSchema(): Ajv2020 {
    return (this.#metaSchemaAjv ??= new Ajv2020(settings));
  }
}

const declaresDialect = (schema: AnySchema): boolean => typeof schema === 'object' && '$schema' in schema;

/** A fresh one for each schema: what an author names in one is not known in another. */
const newAjv = (): Ajv2020 => {
  const ajv = new SharedMetaSchemaAjv(settings);
  ajv.addKeyword({ keyword: 'isUrl', type: 'string', validate: (_on: boolean, text: string) => isUrl(text) });
  ajv.addKeyword({ keyword: 'isJson', validate: (_on: boolean, value: JsonValue) => isJson(value) });
  return ajv;
};

const isUrl = (text: string): boolean => ['http:', 'https:'].includes(URL.parse(text)?.protocol ?? '');

/** An object or an array, or a text that is JSON. */
const isJson = (value: JsonValue): boolean => {
  if (typeof value !== 'string') return typeof value === 'object' && value !== null;
  try {
    JSON.parse(value);
    return true;
  } catch {
    return false;
  }
};

/** Or why the schema is none. */
export function compileSchema(schema: JsonObject): { readonly check: Check } | { readonly error: string } {
  try {
    const validate = newAjv().compile(schema);
    return {
      check: (value) => {
        matchedCharacters = 0;
        try {
          return validate(value) ? [] : (validate.errors ?? []).slice(0, maxErrors).map(errorOf);
        } catch (error) {
          if (error instanceof RangeError) return [{ field: '', reason: 'schema_violation', details: 'takes too much to check' }];
          throw error;
        }
      },
    };
  } catch (error) {
    return { error: error instanceof Error ? error.message : String(error) };
  }
}

const reasons: Readonly<Record<string, ContractReason>> = {
  required: 'missing_required',
  dependentRequired: 'missing_required',
  type: 'type_mismatch',
  isUrl: 'type_mismatch',
  isJson: 'type_mismatch',
  minimum: 'below_min',
  exclusiveMinimum: 'below_min',
  maximum: 'above_max',
  exclusiveMaximum: 'above_max',
  minLength: 'too_short',
  maxLength: 'too_long',
  pattern: 'pattern_mismatch',
  enum: 'enum_mismatch',
  const: 'enum_mismatch',
  additionalProperties: 'unknown_field',
  unevaluatedProperties: 'unknown_field',
};

function errorOf({ keyword, instancePath, params, message }: ErrorObject<string, Record<string, unknown>>): ContractError {
  const steps = instancePath
    .split('/')
    .slice(1)
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'));
  const named = params['missingProperty'] ?? params['additionalProperty'] ?? params['unevaluatedProperty'];
  const field = [...steps, ...(typeof named === 'string' ? [named] : [])].join('.');
  const reason = Object.hasOwn(reasons, keyword) ? reasons[keyword] : undefined;
  return defined({
    field: truncate(field, maxFieldLength),
    reason: reason ?? 'schema_violation',
    details: message === undefined ? undefined : truncate(message, maxDetailsLength),
  });
}

const truncate = (text: string, length: number): string =>
  text.length > length ? `${text.slice(0, length).toWellFormed()}…` : text;
