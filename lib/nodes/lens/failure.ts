/** How a lens node fails: each way with its cause, its code, and what is told beside it. */
import type { JsonObject } from '../../engine/json.ts';
import type { ContractError } from '../../lens/check.ts';
import type { Decision, ModerationPhase } from '../../ports/moderation.ts';
import type { ModelAnswer } from '../../ports/models.ts';
import { type RunResult, failed } from '../runner.ts';

export const lensUnknown = (name: string, version: number | undefined): RunResult =>
  failed({
    cause: 'invalid',
    code: 'lens_unknown',
    message: version === undefined ? `there is no lens ${name}` : `there is no version ${version} of a lens ${name}`,
  });

export const unbound = (labels: readonly string[]): RunResult =>
  failed({
    cause: 'invalid',
    code: 'placeholder_unbound',
    message: `nothing was given for ${labels.join(', ')}`,
    details: { labels },
    status: 'blocked',
  });

export const tooLarge = (bytes: number, most: number): RunResult =>
  failed({
    cause: 'invalid',
    code: 'context_too_large',
    message: `the prompt has at least ${bytes} bytes, and may have ${most}`,
  });

export const contractBroken = (phase: ModerationPhase, errors: readonly ContractError[]): RunResult => {
  const told: readonly JsonObject[] = errors.map((error) => ({ ...error }));
  const words = errors.map(({ field, reason }) => `${field === '' ? 'the whole' : field}: ${reason}`).join(', ');
  return failed(
    {
      cause: 'contract_violated',
      code: `${phase}_contract_violation`,
      message: `the ${phase} contract does not hold: ${words}`,
      details: { phase, errors: told },
      ...(phase === 'output' ? { status: 'invalidated' as const } : {}),
    },
    { gate: { kind: 'contract', phase, errors: told } },
  );
};

/** Undefined where the text may pass. */
export function moderated(phase: ModerationPhase, decision: Decision): RunResult | undefined {
  switch (decision.kind) {
    case 'allowed':
      return undefined;
    case 'unavailable':
      return failed({ cause: 'provider_error', code: 'moderation_unavailable', message: decision.message });
    case 'blocked': {
      const { kind: _kind, ...told } = decision;
      const words = decision.reason ?? decision.policy ?? 'it gives no reason';
      return failed(
        {
          cause: 'forbidden',
          code: 'moderation_blocked',
          message: `moderation stopped the ${phase}: ${words}`,
          details: { phase },
        },
        { gate: { kind: 'moderation', phase, decision: told } },
      );
    }
  }
}

export const modalityUnsupported = (message: string): RunResult =>
  failed({ cause: 'invalid', code: 'modality_unsupported', message, status: 'blocked' });

export const modelFailed = ({ cause, code, message, retryAfterMs }: Extract<ModelAnswer, { kind: 'failed' }>): RunResult =>
  failed({ cause, code, message }, retryAfterMs === undefined ? {} : { retryAfterMs });

export const tookTooLong = (timeoutMs: number, doing: string): RunResult =>
  failed({
    cause: 'timeout',
    code: 'lens_timeout',
    message: `${doing} took longer than ${timeoutMs} ms`,
    details: { timeoutMs },
  });
