/** Values against JSON Schema, by ajv. Nothing is coerced, no default is filled in, and nothing is fetched. */
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
const mostErrors = 20;
const longestField = 256;
const longestDetails = 500;
const longestPattern = 1_000;

/** Characters that the patterns of one check look at, more for a large pattern: a few seconds. A check is one piece of synchronous work. */
const mostMatched = 20_000_000;
const usualProgram = 100;
let matched = 0;

/** Linear in the text, whatever the pattern; look-arounds and back-references do not compile. */
const linear = Object.assign(
  (pattern: string): { test: (text: string) => boolean; toString: () => string } => {
    if (pattern.length > longestPattern) throw new Error(`a pattern has at most ${longestPattern} characters`);
    const compiled = RE2JS.compile(pattern);
    // ajv keeps one expression for each of these names.
    const test = (text: string): boolean => {
      matched += text.length * (1 + compiled.programSize() / usualProgram);
      if (matched > mostMatched) throw new RangeError('too much text for the patterns of the contract');
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
  code: { regExp: linear },
} as const;

/** Whether a schema is one is said by a schema that is always the same, and that takes ten times as long to compile. */
class OneSchema extends Ajv2020 {
  static #ofSchemas: Ajv2020 | undefined;

  override validateSchema(...[schema, throws]: Parameters<Ajv2020['validateSchema']>): ReturnType<Ajv2020['validateSchema']> {
    return namesItsKind(schema) ? super.validateSchema(schema, throws) : OneSchema.#all().validateSchema(schema, throws);
  }

  static #all(): Ajv2020 {
    return (this.#ofSchemas ??= new Ajv2020(settings));
  }
}

const namesItsKind = (schema: AnySchema): boolean => typeof schema === 'object' && '$schema' in schema;

/** A fresh one for each schema: what an author names in one is not known in another. */
const newAjv = (): Ajv2020 => {
  const ajv = new OneSchema(settings);
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
export function compileSchema(schema: JsonObject): { readonly check: Check } | { readonly fault: string } {
  try {
    const validate = newAjv().compile(schema);
    return {
      check: (value) => {
        matched = 0;
        try {
          return validate(value) ? [] : (validate.errors ?? []).slice(0, mostErrors).map(errorOf);
        } catch (trouble) {
          if (trouble instanceof RangeError)
            return [{ field: '', reason: 'schema_violation', details: 'takes too much to check' }];
          throw trouble;
        }
      },
    };
  } catch (fault) {
    return { fault: fault instanceof Error ? fault.message : String(fault) };
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
  return {
    field: cut(field, longestField),
    reason: reason ?? 'schema_violation',
    ...(message === undefined ? {} : { details: cut(message, longestDetails) }),
  };
}

const cut = (text: string, length: number): string => (text.length > length ? `${text.slice(0, length).toWellFormed()}…` : text);
