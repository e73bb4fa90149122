/** Planted bugs in results that a worker holds back to commit them together. */
import type { PlantedBug } from './bug.ts';

const pack = 'lib/service/kinds/graph/pack.ts';
const runNode = 'lib/service/kinds/graph/run-node.ts';
const attemptNode = 'lib/service/kinds/graph/attempt-node.ts';
const watchAttempt = 'lib/service/kinds/graph/watch-attempt.ts';

const chains = { code: 0, runs: 6, idempotent: 0.8 } as const;

export const packBugs: readonly PlantedBug[] = [
  {
    name: 'a pack is committed although another writer was first',
    file: pack,
    find: 'this.#fold.state.asOf === this.#number - 1',
    replace: 'this.#fold.state.asOf >= this.#number - 1',
    within: 60,
    options: chains,
  },
  {
    name: 'a node with side effects begins before the commit of the pack',
    file: pack,
    find: 'planned.policy.isIdempotent === true && ',
    replace: '',
    within: 20,
    faultProfile: 'none',
    options: chains,
  },
  {
    name: 'the result of a node with side effects is held back',
    file: runNode,
    find: 'planNodeOf(plan, open).policy.isIdempotent === true && ',
    replace: '',
    within: 20,
    faultProfile: 'none',
    options: chains,
  },
  {
    name: 'a redelivered message holds results back',
    file: runNode,
    find: '!isRedelivered && (resend ?? 0) === 0',
    replace: '(isRedelivered || !isRedelivered) && (resend ?? 0) === 0',
    within: 60,
    faultProfile: 'lost deliveries',
    options: chains,
  },
  {
    name: 'a job that was sent again holds results back',
    file: runNode,
    find: '!isRedelivered && (resend ?? 0) === 0',
    replace: '!isRedelivered && (resend ?? 0) >= 0',
    within: 100,
    faultProfile: 'lost deliveries',
    options: chains,
  },
  {
    name: 'a pack has no age while a node runs',
    file: watchAttempt,
    find: 'pack.committed === undefined ? pack.remaining :',
    replace: 'pack.committed === undefined ? cancelCheckInterval * 100 :',
    within: 60,
    faultProfile: 'none',
    options: chains,
  },
  {
    name: 'a node does not see the results in the pack',
    file: attemptNode,
    find: 'pack.committed !== undefined ? fold : pack.draft',
    replace: 'pack.committed !== undefined ? fold : fold',
    within: 20,
    faultProfile: 'none',
    options: chains,
  },
  {
    name: 'a node that was retried with a delay runs at once too',
    file: runNode,
    find: "isOpen(node) && node.via === 'inline' && node.dispatchedIn",
    replace: 'isOpen(node) && node.dispatchedIn',
    within: 60,
    faultProfile: 'none',
    options: chains,
  },
  {
    name: 'a pack contains the last result only',
    file: pack,
    find: 'this.#events.push(...events);',
    replace: 'this.#events.splice(0, this.#events.length, ...events);',
    within: 20,
    faultProfile: 'none',
    options: chains,
  },
  {
    name: 'a pack decides each result without the ones before it',
    file: pack,
    find: 'this.#plan, this.draft.state, ended);',
    replace: 'this.#plan, this.#fold.state, ended);',
    within: 20,
    faultProfile: 'none',
    options: chains,
  },
  {
    name: 'the results of a pack are committed in the reverse order',
    file: pack,
    find: 'this.#events.push(...events);',
    replace: 'this.#events.unshift(...events);',
    within: 20,
    faultProfile: 'none',
    options: chains,
  },
];
