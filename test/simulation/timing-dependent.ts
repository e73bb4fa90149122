/**
 * Fixed workflows of which time decides what they come to, so that a crash, after which all goes on minutes later, may lead
 * them another way. They are held to every invariant, and not to the end that they came to without a crash.
 */
export const timingDependent: ReadonlyMap<string, string> = new Map([
  ['deferred-choice-by-signal', 'the signal comes a minute after the start, and the wait lasts as long'],
  ['deferred-choice-by-expiry', 'a wait that begins later is still there when the signal comes'],
  ['error-handling-fail-workflow-without-an-error-edge', 'the nap may be over before the node has failed'],
  ['error-handling-fail-workflow-with-an-error-edge', 'the nap may be over before the node has failed'],
  ['cancel-before-anything', 'a client that hears nothing of its start cancels too late'],
  ['cancel-between-retries', 'the last attempt may be over before the cancel comes'],
  ['retry-past-the-deadline', 'what is mended after the deadline is too late for it'],
  ['budget-with-work-under-way', 'another node may be the one that uses the budget up'],
  ['several-ends-of-one-name', 'the end that comes last is the one that is kept'],
]);

/** Those of which two crashes may lead elsewhere, and one does not. */
export const timingDependentAfterTwoCrashes: ReadonlyMap<string, string> = new Map([
  ...timingDependent,
  ['explicit-termination', 'what two crashes hold up may take longer than the nap of five minutes'],
]);
