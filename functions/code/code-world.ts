/**
 * The World of deployed apps of the Workflow DevKit. Calls about the run of a message that this process has received are made in this
 * process. It has no permission to read or to create other runs, so calls about them go to the function of the World.
 */
import type { Logger } from '@aws-lambda-powertools/logger';
import { type Scope, runId, runIdPattern } from '../../lib/engine/ids.ts';
import { type JsonValue, isJsonObject } from '../../lib/engine/json.ts';
import { inspectNode } from '../../lib/nodes/catalogue.ts';
import type { WorldAnswer, WorldCalls } from '../../lib/ports/world-calls.ts';
import type { Decider } from '../../lib/service/decider.ts';
import { FoldCache } from '../../lib/service/run-log/fold-cache.ts';
import type { WorldMethod } from '../../lib/world/calls.ts';
import { toolsOf } from '../api/operation.ts';
import { callWorld, isWorldMethod, newTrace } from '../api/operations/call-world.ts';

/**
 * @param decider takes the heads of runs from the messages of this process
 * @param others serves calls about other runs; undefined: they are refused
 * @param encryptsRuns the function of the World has the keys of runs; this process must not be able to derive them
 */
export function codeWorldOf(
  decider: Decider,
  logger: Pick<Logger, 'info' | 'warn' | 'error'>,
  others: WorldCalls | undefined,
  encryptsRuns = false,
): WorldCalls {
  const tools = toolsOf({ decider: { ...decider, foldCache: new FoldCache() }, inspect: inspectNode, logger });
  const knows = async (scope: Scope, id: JsonValue | undefined): Promise<boolean> =>
    typeof id === 'string' &&
    runIdPattern.test(id) &&
    (await decider.deps.log.head({ ...scope, runId: runId(id) })) !== undefined;
  return {
    async call(scope, method, body) {
      if (!isWorldMethod(method)) return refused(`the World has no call ${method.slice(0, 64)}`);
      const isHere =
        method === 'encryptionKey' ? !encryptsRuns : needsNoRun(method, body) || (await knows(scope, runOf(method, body)));
      if (!isHere && others !== undefined) return others.call(scope, method, body);
      if (!isHere) return refused(`${method} is about another run, and this process reaches the runs of its messages only`);
      return callWorld(tools, { scope, trace: newTrace() }, method, body);
    },
  };
}

/** Streams of health checks and streams that are read by name belong to no run, or to one that their records name. */
const needsNoRun = (method: WorldMethod, body: JsonValue): boolean => {
  if (!method.startsWith('streams.') || !isJsonObject(body)) return false;
  const { runId: owner, name } = body;
  return owner === undefined || owner === null || (typeof name === 'string' && name.startsWith('__health_check__'));
};

function runOf(method: WorldMethod, body: JsonValue): JsonValue | undefined {
  if (!isJsonObject(body)) return undefined;
  const { message } = body;
  if (method !== 'queue.publish' || !isJsonObject(message)) return body['runId'];
  return message['runId'] ?? message['workflowRunId'];
}

const refused = (message: string): WorldAnswer => ({ kind: 'refused', status: 403, code: 'outside_of_run', message });
