/** Validates values with JSON Schema, using ajv. It coerces nothing, fills in no defaults and fetches no schemas. */
import { defined } from '../base/defined.ts';
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
  /** dotted path; empty for the whole value */
  readonly field: string;
  readonly reason: ContractReason;
  readonly details?: string;
}

export type Check = (value: JsonValue) => readonly ContractError[];

/** Limits of the report: number of errors, and characters of field and details. A model may have chosen the field names. */
export const maxContractErrors = 20;
export const maxFieldLength = 256;
const maxDetailsLength = 500;
const maxPatternLength = 1_000;

/** Limit of characters that the patterns of one check scan, weighted by pattern size. A check is synchronous; this bounds it to a few seconds. */
export const maxMatchedCharacters = 20_000_000;
const typicalProgramSize = 100;
let matchedCharacters = 0;

/** RE2 matches in linear time for every pattern. Look-arounds and back-references do not compile. */
const linearRegExp = Object.assign(
  (pattern: string): { test: (text: string) => boolean; toString: () => string } => {
    if (pattern.length > maxPatternLength) throw new Error(`a pattern has at most ${maxPatternLength} characters`);
    const compiled = RE2JS.compile(pattern);
    // ajv caches regular expressions by this string.
    const test = (text: string): boolean => {
      matchedCharacters += text.length * (1 + compiled.programSize() / typicalProgramSize);
      if (matchedCharacters > maxMatchedCharacters) throw new RangeError('the text is too long for the patterns of the contract');
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

/** Shares one compiled meta-schema: compiling it takes ten times as long as a typical schema. */
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

/** A new instance per schema, so that `$defs` and ids of one schema are unknown in another. */
const newAjv = (): Ajv2020 => {
  const ajv = new SharedMetaSchemaAjv(settings);
  ajv.addKeyword({ keyword: 'isUrl', type: 'string', validate: (_on: boolean, text: string) => isUrl(text) });
  ajv.addKeyword({ keyword: 'isJson', validate: (_on: boolean, value: JsonValue) => isJson(value) });
  return ajv;
};

const isUrl = (text: string): boolean => ['http:', 'https:'].includes(URL.parse(text)?.protocol ?? '');

/** An object, an array, or a string that contains JSON. */
const isJson = (value: JsonValue): boolean => {
  if (typeof value !== 'string') return typeof value === 'object' && value !== null;
  try {
    JSON.parse(value);
    return true;
  } catch {
    return false;
  }
};

/** @returns the check, or why the schema does not compile */
export function compileSchema(schema: JsonObject): { readonly check: Check } | { readonly error: string } {
  try {
    const validate = newAjv().compile(schema);
    return {
      check: (value) => {
        matchedCharacters = 0;
        try {
          return validate(value) ? [] : (validate.errors ?? []).slice(0, maxContractErrors).map(errorOf);
        } catch (error) {
          if (error instanceof RangeError)
            return [{ field: '', reason: 'schema_violation', details: 'the check exceeds its limit of pattern matching' }];
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
