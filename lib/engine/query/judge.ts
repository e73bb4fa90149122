/** Whether a query makes sense, before it is published: everything that is wrong with it, each with a code and a place. */
import { argumentFits } from '../graph/arguments.ts';
import type { Finding } from '../graph/definition.ts';
import { type FindingCode, finding, pointer } from '../graph/findings.ts';
import { faultsOf, pathsOf } from '../graph/template.ts';
import { headerFault } from '../header-rule.ts';
import type { JsonValue } from '../json.ts';
import { type QueryDefinition, type QueryDraft, type QueryKind, queryLimits } from './definition.ts';
import { namesInPath } from './path.ts';
import { hasSeveral, readStatement } from './statement.ts';

export interface QueryVerdict {
  /** absent where a finding is an error */
  readonly query?: QueryDefinition;
  readonly findings: readonly Finding[];
}

export function judgeQuery(draft: QueryDraft): QueryVerdict {
  const judged = judges[draft.kind](draft);
  const findings = [...judged.findings, ...judgeParameters(draft, judged.named)];
  const isSound = findings.every(({ severity }) => severity !== 'error');
  return isSound && judged.query !== undefined ? { query: judged.query, findings } : { findings };
}

interface Judged {
  readonly query?: QueryDefinition;
  readonly findings: readonly Finding[];
  /** parameters that are used, with where */
  readonly named: readonly { readonly name: string; readonly place: string }[];
}

const judgePostgres = (draft: QueryDraft): Judged => judgeSql(draft, 'postgres', 'a secret');

function judgeAurora(draft: QueryDraft): Judged {
  const { bytes, ms } = queryLimits.aurora;
  const judged = judgeSql(draft, 'aurora', 'a configured database');
  const findings = [
    ...(draft.maxBytes > bytes ? [invalid('/maxBytes', `the Data API answers at most ${bytes} bytes`)] : []),
    ...(draft.timeoutMs > ms ? [invalid('/timeoutMs', `the Data API ends a statement after ${ms} ms`)] : []),
    ...(draft.statement !== undefined && hasSeveral(draft.statement)
      ? [finding('statement_invalid', '/statement', 'is more than one statement')]
      : []),
  ];
  return { ...judged, findings: [...judged.findings, ...findings] };
}

function judgeSql(
  { statement, request, readOnly = true, maxRows = queryLimits.rows.standard, ...draft }: QueryDraft,
  kind: 'postgres' | 'aurora',
  connection: string,
): Judged {
  const name = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/;
  const findings = [
    ...(request === undefined ? [] : [notOf('request', draft)]),
    ...(name.test(draft.connection) ? [] : [invalid('/connection', `must be the name of ${connection}`)]),
  ];
  if (statement === undefined)
    return { findings: [...findings, invalid('/statement', `a query of the kind ${kind} has one`)], named: [] };
  const read = readStatement(statement);
  if ('fault' in read) return { findings: [...findings, finding('statement_invalid', '/statement', read.fault)], named: [] };
  return {
    query: { ...draft, kind, statement, readOnly, maxRows },
    findings,
    named: read.names.map((each) => ({ name: each, place: '/statement' })),
  };
}

function judgeHttp({ statement, request, readOnly, maxRows, ...draft }: QueryDraft): Judged {
  const isBase = /^https?:\/\/[^\s/?#@{}\\]+(\/[^\s?#{}\\]*)?$/i.test(draft.connection);
  const findings = [
    ...(isBase ? [] : [invalid('/connection', 'must be a whole http or https address, without user, query or fragment')]),
    ...Object.entries({ statement, readOnly, maxRows }).flatMap(([key, value]) =>
      value === undefined ? [] : [notOf(key, draft)],
    ),
  ];
  if (request === undefined) return { findings: [...findings, invalid('/request', 'an http query has one')], named: [] };
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
        : [invalid('/request/path', 'must be steps behind /, without query or templates')]),
      ...Object.keys(request.headers).flatMap((name) => {
        const fault = headerFault(name);
        return fault === undefined ? [] : [invalid(pointer('request', 'headers', name), fault)];
      }),
      ...templates.flatMap(([key, value]) =>
        faultsOf(value).map(({ place, message }) => finding('template_invalid', pointer('request', key) + place, message)),
      ),
    ],
    named: [
      ...namesInPath(request.path).map((name) => ({ name, place: '/request/path' })),
      ...templates.flatMap(([key, value]) =>
        pathsOf(value).flatMap(([name]) => (name === undefined ? [] : [{ name: String(name), place: pointer('request', key) }])),
      ),
    ],
  };
}

const judges: Readonly<Record<QueryKind, (draft: QueryDraft) => Judged>> = {
  postgres: judgePostgres,
  http: judgeHttp,
  aurora: judgeAurora,
};

function judgeParameters({ parameters }: QueryDraft, named: Judged['named']): readonly Finding[] {
  const declared = new Set(parameters.map(({ name }) => name));
  const used = new Set(named.map(({ name }) => name));
  return [
    ...named
      .filter(({ name }) => !declared.has(name))
      .map(({ name, place }) => finding('parameter_unknown', place, `no parameter ${name} is declared`)),
    ...parameters.flatMap(({ name, type, default: preset }, index) => [
      ...at(
        parameters.findIndex((other) => other.name === name) < index,
        index,
        'name',
        'argument_invalid',
        `${name} is declared twice`,
      ),
      ...at(
        preset !== undefined && !argumentFits(type, preset),
        index,
        'default',
        'argument_invalid',
        `is not of the type ${type}`,
      ),
      ...at(!used.has(name), index, 'name', 'parameter_unused', `nothing asks for ${name}`),
    ]),
  ];
}

const at = (isSo: boolean, index: number, key: string, code: FindingCode, message: string): readonly Finding[] =>
  isSo ? [finding(code, pointer('parameters', index, key), message)] : [];

const invalid = (place: string, message: string): Finding => finding('config_invalid', place, message);
const notOf = (key: string, { kind }: Pick<QueryDraft, 'kind'>): Finding =>
  invalid(pointer(key), `a query of the kind ${kind} has none`);
