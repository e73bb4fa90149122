/** Runs one attempt of a node with the secrets and queries of its project, and masks secrets in the result. */
import { defined } from '../base/defined.ts';
import { errorMessage } from '../engine/error-text.ts';
import { TimeSliceExceeded } from '../engine/fair-shares.ts';
import { PayloadsNeeded } from '../engine/graph/context.ts';
import { storableOutcome } from '../engine/graph/payload-limits.ts';
import type { NodeInput, PlanNode } from '../engine/graph/plan.ts';
import type { Scope } from '../engine/ids.ts';
import { Unavailable } from '../ports/unavailable.ts';
import { type NodeTools, type QueryLookup, type RunResult, type Runner, failed } from './runner.ts';
import { type SecretLookup, SecretUse } from './secret-use.ts';

export type AttemptRunner = (
  node: Pick<PlanNode, 'type' | 'config' | 'policy'>,
  input: NodeInput,
  attempt: Omit<NodeTools, 'timeoutMs' | 'secrets' | 'query'>,
) => Promise<RunResult>;

/** The secrets and queries of a project. */
export interface ProjectResources {
  /** rejects when secrets cannot be read now */
  secret(scope: Scope, name: string): Promise<SecretLookup>;
  /** rejects when queries cannot be read now; without `version`, the latest version */
  query(scope: Scope, name: string, version?: number): Promise<QueryLookup>;
}

const noResources: ProjectResources = {
  secret: async () => ({ kind: 'not_allowed' }),
  query: async () => ({ kind: 'unknown' }),
};

/** Runs one attempt of a node that is not pure. Rejects only for the reasons of `Runner.run`. */
export const createAttemptRunner =
  (runners: ReadonlyMap<string, Runner>, overrides: Partial<ProjectResources> = {}): AttemptRunner =>
  async ({ type, config, policy }, input, attempt) => {
    const nodeRunner = runners.get(type);
    const resources = { ...noResources, ...overrides };
    if (nodeRunner === undefined) {
      return failed({ cause: 'invalid', code: 'node_type_unknown', message: `this worker cannot run nodes of type ${type}` });
    }
    const { scope, signal } = attempt;
    const secrets = new SecretUse((name) => resources.secret(scope, name));
    const query: NodeTools['query'] = (name, version) => resources.query(scope, name, version);
    try {
      const { outcome, printed, cpuMs } = await nodeRunner.run(config, input, {
        ...attempt,
        timeoutMs: policy.timeoutMs,
        secrets,
        query,
      });
      // The used secrets are known only now. Masking recurses, so the outcome is first limited in depth.
      return defined({ ...secrets.mask.result({ outcome: storableOutcome(outcome), printed }), cpuMs });
    } catch (error) {
      if (signal.aborted || error instanceof PayloadsNeeded || error instanceof TimeSliceExceeded || error instanceof Unavailable)
        throw error;
      // The message of an internal error may contain a secret.
      return failed(secrets.mask.failure({ cause: 'internal', code: 'internal', message: errorMessage(error) }));
    }
  };
