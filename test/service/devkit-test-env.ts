/** The World on memory: a registered application, and runs that a test drives call by call. */
import type { WorldRequest } from '../../lib/engine/devkit/decide.ts';
import { type DeploymentId, type RunAddress, deploymentId } from '../../lib/engine/ids.ts';
import { inline } from '../../lib/engine/json.ts';
import type { AppCalls, AppRequest, AppResponse } from '../../lib/ports/devkit.ts';
import type { Deps } from '../../lib/service/deps.ts';
import { type EventParams, type EventResult } from '../../lib/service/kinds/devkit/event-result.ts';
import { createWorldEvent } from '../../lib/service/kinds/devkit/events-of-world.ts';
import { registerApp } from '../../lib/service/kinds/devkit/register-app.ts';
import type { World } from '../../lib/service/kinds/devkit/world.ts';
import type { WorldResult } from '../../lib/service/kinds/devkit/world-error.ts';
import { FoldCache } from '../../lib/service/run-log/fold-cache.ts';
import { type TestEnv, createTestEnv, scope } from './test-env.ts';

export const serialized = { $bytes: 'ZGV2bFsxXQ==' };
export const bytes = inline(serialized);
export const workflowName = 'workflow//./workflows/order//processOrder';

export interface DevKitEnv {
  readonly env: TestEnv;
  /** a warm function */
  readonly world: World;
  /** another function, which shares nothing with the first one but the store */
  readonly other: () => World;
  readonly app: DeploymentId;
  /** what the application received */
  readonly received: AppRequest[];
  readonly answerWith: (answer: (request: AppRequest) => AppResponse) => void;
  readonly newRun: () => RunAddress;
  readonly start: (specVersion?: number) => Promise<RunAddress>;
  readonly ask: (
    run: RunAddress,
    request: WorldRequest,
    params?: EventParams,
    world?: World,
  ) => Promise<WorldResult<EventResult>>;
}

export async function createDevKitEnv(options: { readonly wrap?: (deps: Deps) => Deps } = {}): Promise<DevKitEnv> {
  const received: AppRequest[] = [];
  let answer = (_request: AppRequest): AppResponse => ({ kind: 'responded', status: 200, body: { ok: true } });
  const apps: AppCalls = {
    forward: async () => ({ kind: 'failed', reason: 'this environment forwards nothing' }),
    post: async (request) => {
      received.push(request);
      return answer(request);
    },
  };
  const env = createTestEnv({ apps, ...options });
  const other = (): World => ({ ...env.worker, by: 'world', foldCache: new FoldCache() });
  const world = other();
  const registered = await registerApp(env.deps, scope, { baseUrl: 'https://app.example.com/' });
  if (registered.kind === 'refused') throw new Error(registered.message);
  const app = deploymentId(registered.value.deploymentId);
  const self: DevKitEnv = {
    env,
    world,
    other,
    app,
    received,
    answerWith: (next) => void (answer = next),
    newRun: () => ({ ...scope, runId: env.deps.ids.runId(env.deps.clock.now()) }),
    start: async (specVersion = 5) => {
      const run = self.newRun();
      const created = await self.ask(run, creation(app, specVersion));
      if (created.kind === 'refused') throw new Error(created.message);
      await self.ask(run, { event: 'run_started', specVersion });
      return run;
    },
    ask: (run, request, params = {}, by = world) => createWorldEvent(by, { run, request, params }),
  };
  return self;
}

export const creation = (app: DeploymentId, specVersion = 5): WorldRequest => ({
  event: 'run_created',
  specVersion,
  data: { deploymentId: app, workflowName },
  payload: bytes,
});

export const step = (id = 'step_1'): WorldRequest => ({
  event: 'step_created',
  correlationId: id,
  data: { stepName: 'charge' },
  payload: bytes,
});
export const lazyStart = (id = 'step_1'): WorldRequest => ({ ...step(id), event: 'step_started' });
export const completed = (id = 'step_1'): WorldRequest => ({ event: 'step_completed', correlationId: id, payload: bytes });
export const hook = (token: string, id = 'hook_1'): WorldRequest => ({
  event: 'hook_created',
  correlationId: id,
  data: { token },
});

/** The answer; a refusal fails the test. */
export function answered<Value>(result: WorldResult<Value>): Value {
  if (result.kind === 'refused') throw new Error(`${result.code}: ${result.message}`);
  return result.value;
}
