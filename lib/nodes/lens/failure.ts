/** The failures of a lens node, each with cause, code, message and details. */
import { defined } from '../../base/defined.ts';
import type { JsonObject } from '../../engine/json.ts';
import type { ContractError } from '../../lens/check.ts';
import type { Decision, ModerationPhase } from '../../ports/moderation.ts';
import type { ModelResponse } from '../../ports/models.ts';
import { type RunResult, failed } from '../runner.ts';

export const lensUnknown = (name: string, version: number | undefined): RunResult =>
  failed({
    cause: 'invalid',
    code: 'lens_unknown',
    message: version === undefined ? `the lens ${name} does not exist` : `the lens ${name} has no version ${version}`,
  });

export const unbound = (labels: readonly string[]): RunResult =>
  failed({
    cause: 'invalid',
    code: 'placeholder_unbound',
    message: `no value for the placeholders ${labels.join(', ')}`,
    details: { labels },
    status: 'blocked',
  });

export const tooLarge = (bytes: number, maxBytes: number): RunResult =>
  failed({
    cause: 'invalid',
    code: 'context_too_large',
    message: `the prompt has at least ${bytes} bytes; the limit is ${maxBytes}`,
  });

export const contractViolated = (phase: ModerationPhase, errors: readonly ContractError[]): RunResult => {
  const reported: readonly JsonObject[] = errors.map((error) => ({ ...error }));
  const description = errors.map(({ field, reason }) => `${field === '' ? 'the whole value' : field}: ${reason}`).join(', ');
  return failed(
    defined({
      cause: 'contract_violated',
      code: `${phase}_contract_violation`,
      message: `the ${phase} contract is violated: ${description}`,
      details: { phase, errors: reported },
      status: phase === 'output' ? ('invalidated' as const) : undefined,
    }),
    { gate: { kind: 'contract', phase, errors: reported } },
  );
};

/** Undefined when the text is allowed. */
export function moderationResult(phase: ModerationPhase, decision: Decision): RunResult | undefined {
  switch (decision.kind) {
    case 'allowed':
      return undefined;
    case 'unavailable':
      return failed({ cause: 'provider_error', code: 'moderation_unavailable', message: decision.message });
    case 'blocked': {
      const { kind: _kind, ...reported } = decision;
      const description = decision.reason ?? decision.policy ?? 'no reason given';
      return failed(
        {
          cause: 'forbidden',
          code: 'moderation_blocked',
          message: `moderation blocked the ${phase}: ${description}`,
          details: { phase },
        },
        { gate: { kind: 'moderation', phase, decision: reported } },
      );
    }
  }
}

export const modalityUnsupported = (message: string): RunResult =>
  failed({ cause: 'invalid', code: 'modality_unsupported', message, status: 'blocked' });

export const modelFailed = ({ cause, code, message, retryAfterMs }: Extract<ModelResponse, { kind: 'failed' }>): RunResult =>
  failed({ cause, code, message }, retryAfterMs === undefined ? {} : { retryAfterMs });

export const timeoutFailure = (timeoutMs: number, activity: string): RunResult =>
  failed({
    cause: 'timeout',
    code: 'lens_timeout',
    message: `${activity} took longer than ${timeoutMs} ms`,
    details: { timeoutMs },
  });
