/** Runs a query over HTTP with the runner of `http` nodes: the same address rules, limits and failures. The arguments are its context. */
import type { ContextView } from '../../engine/graph/context.ts';
import { countedText } from '../../engine/graph/template.ts';
import { NodeWork } from '../../engine/graph/work-limits.ts';
import { type JsonObject, inline, isJsonObject } from '../../engine/json.ts';
import type { HttpQuery } from '../../engine/query/definition.ts';
import { fillPath } from '../../engine/query/arguments.ts';
import type { NodeInput } from '../../engine/graph/plan.ts';
import { type NodeTools, type RunResult, type Runner, failed } from '../runner.ts';

export async function queryHttp(
  http: Runner,
  query: HttpQuery & { readonly version: number },
  values: JsonObject,
  input: NodeInput,
  tools: NodeTools,
): Promise<RunResult> {
  const { method, path, query: search, headers, body } = query.request;
  const context = contextOf(values);
  const filled = fillPath(path, (name) => countedText(values[name], context.work));
  if (filled === undefined) {
    const message = `an argument of the path ${path} is empty, "." or ".."`;
    return failed({ cause: 'invalid', code: 'arguments_invalid', message });
  }
  const url = query.connection.replace(/\/+$/, '') + filled;
  const config = { method, url, headers, query: search, body, maxResponseBytes: query.maxBytes };
  const result = await http.run(config, { ...input, context }, tools);
  return { ...result, outcome: toQueryOutcome(result.outcome, query) };
}

const toQueryOutcome = (
  outcome: RunResult['outcome'],
  { name, version }: Pick<HttpQuery, 'name'> & { readonly version: number },
) => {
  if (outcome.kind === 'failed' && outcome.failure.code === 'response_too_large')
    return { ...outcome, failure: { ...outcome.failure, code: 'result_too_large' } };
  if (outcome.kind !== 'finished' || !('value' in outcome.output)) return outcome;
  const answer = isJsonObject(outcome.output.value) ? outcome.output.value : {};
  const { status = null, body = null } = answer;
  return { ...outcome, output: inline({ status, body, query: name, version }) };
};

/** `{{ctx.name}}` is an argument; the context contains nothing else. */
const contextOf = (values: JsonObject): ContextView => ({
  work: new NodeWork(),
  get: (key) => (Object.hasOwn(values, key) ? values[key] : undefined),
  keys: () => Object.keys(values),
  all: () => values,
});
