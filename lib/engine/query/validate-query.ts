/** Validates a query before it is published; reports all findings, each with a code and a JSON pointer. */
import { matchesArgumentType } from '../graph/validate-input.ts';
import type { Finding } from '../graph/definition.ts';
import { type FindingCode, finding, jsonPointer } from '../graph/findings.ts';
import { templateErrorsOf, pathsOf } from '../graph/template.ts';
import { invalidHeaderReason } from '../header-name.ts';
import type { JsonValue } from '../json.ts';
import { type QueryDefinition, type QueryDraft, type QueryKind, queryLimits } from './definition.ts';
import { argumentNamesIn } from './arguments.ts';
import { hasSeveralStatements, parseStatement } from './statement.ts';

export interface QueryValidation {
  /** absent if a finding is an error */
  readonly query?: QueryDefinition;
  readonly findings: readonly Finding[];
}

export function validateQuery(draft: QueryDraft): QueryValidation {
  const validation = validators[draft.kind](draft);
  const findings = [...validation.findings, ...validateParameters(draft, validation.usedParameters)];
  const isValid = findings.every(({ severity }) => severity !== 'error');
  return isValid && validation.query !== undefined ? { query: validation.query, findings } : { findings };
}

interface KindValidation {
  readonly query?: QueryDefinition;
  readonly findings: readonly Finding[];
  /** parameters that the query uses, with their location */
  readonly usedParameters: readonly { readonly name: string; readonly pointer: string }[];
}

const validatePostgres = (draft: QueryDraft): KindValidation => validateSql(draft, 'postgres', 'a secret');

function validateAurora(draft: QueryDraft): KindValidation {
  const { bytes, ms } = queryLimits.aurora;
  const validation = validateSql(draft, 'aurora', 'a configured database');
  const findings = [
    ...(draft.maxBytes > bytes ? [invalid('/maxBytes', `the Data API returns at most ${bytes} bytes`)] : []),
    ...(draft.timeoutMs > ms ? [invalid('/timeoutMs', `the Data API ends a statement after ${ms} ms`)] : []),
    ...(draft.statement !== undefined && hasSeveralStatements(draft.statement)
      ? [finding('statement_invalid', '/statement', 'contains more than one statement')]
      : []),
  ];
  return { ...validation, findings: [...validation.findings, ...findings] };
}

function validateSql(
  { statement, request, readOnly = true, maxRows = queryLimits.rows.standard, ...draft }: QueryDraft,
  kind: 'postgres' | 'aurora',
  connection: string,
): KindValidation {
  const name = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/;
  const findings = [
    ...(request === undefined ? [] : [notAllowed('request', draft)]),
    ...(name.test(draft.connection) ? [] : [invalid('/connection', `must be the name of ${connection}`)]),
  ];
  if (statement === undefined)
    return {
      findings: [...findings, invalid('/statement', `a query of the kind ${kind} needs a statement`)],
      usedParameters: [],
    };
  const parsed = parseStatement(statement);
  if ('error' in parsed)
    return { findings: [...findings, finding('statement_invalid', '/statement', parsed.error)], usedParameters: [] };
  return {
    query: { ...draft, kind, statement, readOnly, maxRows },
    findings,
    usedParameters: parsed.names.map((each) => ({ name: each, pointer: '/statement' })),
  };
}

function validateHttp({ statement, request, readOnly, maxRows, ...draft }: QueryDraft): KindValidation {
  const isBase = /^https?:\/\/[^\s/?#@{}\\]+(\/[^\s?#{}\\]*)?$/i.test(draft.connection);
  const findings = [
    ...(isBase ? [] : [invalid('/connection', 'must be an absolute http or https URL without user, query or fragment')]),
    ...Object.entries({ statement, readOnly, maxRows }).flatMap(([key, value]) =>
      value === undefined ? [] : [notAllowed(key, draft)],
    ),
  ];
  if (request === undefined)
    return { findings: [...findings, invalid('/request', 'an http query needs a request')], usedParameters: [] };
  const templates: readonly (readonly [string, JsonValue])[] = [
    ['query', request.query],
    ['headers', request.headers],
    ['body', request.body],
  ];
  return {
    query: { ...draft, kind: 'http', request },
    findings: [
      ...findings,
      ...(/^(\/[^/?#{}\\]*)*$/.test(request.path)
        ? []
        : [invalid('/request/path', 'must be path segments that begin with /, without query or templates')]),
      ...Object.keys(request.headers).flatMap((name) => {
        const reason = invalidHeaderReason(name);
        return reason === undefined ? [] : [invalid(jsonPointer('request', 'headers', name), reason)];
      }),
      ...templates.flatMap(([key, value]) =>
        templateErrorsOf(value).map(({ pointer, message }) =>
          finding('template_invalid', jsonPointer('request', key) + pointer, message),
        ),
      ),
    ],
    usedParameters: [
      ...argumentNamesIn(request.path).map((name) => ({ name, pointer: '/request/path' })),
      ...templates.flatMap(([key, value]) =>
        pathsOf(value).flatMap(([name]) =>
          name === undefined ? [] : [{ name: String(name), pointer: jsonPointer('request', key) }],
        ),
      ),
    ],
  };
}

const validators: Readonly<Record<QueryKind, (draft: QueryDraft) => KindValidation>> = {
  postgres: validatePostgres,
  http: validateHttp,
  aurora: validateAurora,
};

function validateParameters({ parameters }: QueryDraft, usedParameters: KindValidation['usedParameters']): readonly Finding[] {
  const declared = new Set(parameters.map(({ name }) => name));
  const usedNames = new Set(usedParameters.map(({ name }) => name));
  return [
    ...usedParameters
      .filter(({ name }) => !declared.has(name))
      .map(({ name, pointer }) => finding('parameter_unknown', pointer, `no parameter ${name} is declared`)),
    ...parameters.flatMap(({ name, type, default: defaultValue }, index) => [
      ...findingIf(
        parameters.findIndex((other) => other.name === name) < index,
        index,
        'name',
        'argument_invalid',
        `${name} is declared twice`,
      ),
      ...findingIf(
        defaultValue !== undefined && !matchesArgumentType(type, defaultValue),
        index,
        'default',
        'argument_invalid',
        `is not of the type ${type}`,
      ),
      ...findingIf(!usedNames.has(name), index, 'name', 'parameter_unused', `the query does not use ${name}`),
    ]),
  ];
}

const findingIf = (condition: boolean, index: number, key: string, code: FindingCode, message: string): readonly Finding[] =>
  condition ? [finding(code, jsonPointer('parameters', index, key), message)] : [];

const invalid = (pointer: string, message: string): Finding => finding('config_invalid', pointer, message);
const notAllowed = (key: string, { kind }: Pick<QueryDraft, 'kind'>): Finding =>
  invalid(jsonPointer(key), `a query of the kind ${kind} does not support this field`);
