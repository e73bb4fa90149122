/** Whether the log gives the reason of a refusal. A call may be refused for what landed before it was answered. */
import type { WorldRequest } from '../../../lib/engine/devkit/decide.ts';
import type { DevKitEventName } from '../../../lib/engine/devkit/events.ts';
import { isTerminalRunEvent } from '../../../lib/engine/devkit/events.ts';
import type { WorldError } from '../../../lib/service/kinds/devkit/world-error.ts';
import type { LoggedEvent } from './devkit-checker.ts';

/** @param before the log as it was when the call began */
export function isRightRefusal(
  { code }: WorldError,
  { event, correlationId: id = '' }: WorldRequest,
  before: readonly LoggedEvent[],
  after: readonly LoggedEvent[],
): boolean {
  const has = (events: readonly LoggedEvent[], ...names: readonly DevKitEventName[]): boolean =>
    events.some((each) => each.id === id && names.includes(each.event));
  const hasEnded = after.some((each) => isTerminalRunEvent(each.event));
  switch (code) {
    case 'run_not_found':
      return before.length === 0;
    case 'step_not_found':
      return !has(before, 'step_created');
    case 'wait_not_found':
      return !has(before, 'wait_created');
    case 'hook_not_found':
      return !has(before, 'hook_created') || has(after, 'hook_disposed') || hasEnded;
    case 'run_expired':
      return hasEnded;
    case 'too_early':
      return event === 'step_started' && has(after, 'step_retrying');
    case 'entity_conflict':
      return isRightConflict(event, (...names) => has(after, ...names), hasEnded, after);
    case 'unavailable':
      return event === 'hook_created';
    default:
      return false;
  }
}

function isRightConflict(
  event: WorldRequest['event'],
  has: (...names: readonly DevKitEventName[]) => boolean,
  hasEnded: boolean,
  after: readonly LoggedEvent[],
): boolean {
  switch (event) {
    case 'run_created':
      return after.length > 0;
    case 'run_completed':
    case 'run_failed':
    case 'run_cancelled':
      return hasEnded;
    case 'step_created':
      return has('step_created') || hasEnded;
    case 'step_started':
      // A start that creates its step, or one of a step that has ended.
      return has('step_created') || hasEnded;
    case 'step_completed':
    case 'step_failed':
    case 'step_retrying':
      return has('step_completed', 'step_failed');
    case 'hook_created':
      return has('hook_created', 'hook_conflict') || hasEnded;
    case 'hook_disposed':
      return has('hook_disposed');
    case 'wait_created':
    case 'wait_completed':
    case 'attr_set':
      return has(event) || hasEnded;
    default:
      return false;
  }
}
