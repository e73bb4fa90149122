/**
 * Fixed workflows whose end depends on timing: a crash delays the run by minutes and may lead to another end. They must keep
 * every invariant, but the crash matrix does not compare their end with the end without a crash.
 */
export const timingDependent: ReadonlyMap<string, string> = new Map([
  ['deferred-choice-by-signal', 'the signal arrives one minute after the start, exactly when the wait expires'],
  ['deferred-choice-by-expiry', 'a wait that starts later has not expired when the signal arrives'],
  ['error-handling-fail-workflow-without-an-error-edge', 'the delay may end before the node fails'],
  ['error-handling-fail-workflow-with-an-error-edge', 'the delay may end before the node fails'],
  ['cancel-before-anything', 'a client that gets no response to its start cancels too late'],
  ['cancel-between-retries', 'the last attempt may end before the cancel arrives'],
  ['retry-past-the-deadline', 'recovery after the deadline is too late for the retry'],
  ['budget-with-work-under-way', 'another node may exhaust the budget'],
  ['an-end-that-completes-the-run', 'a crash delays the end, and a slow sibling completes before it would be cancelled'],
  ['an-error-end-that-ends-the-run', 'a crash delays the end, and a sibling completes before it would be cancelled'],
  ['all-or-nothing', 'a crash delays the end, and a sibling completes before it would be cancelled'],
  ['several-ends-of-one-name', 'the output of the last end node wins'],
]);

/** The same for two crashes, with the workflows where one crash never changes the end. */
export const timingDependentAfterTwoCrashes: ReadonlyMap<string, string> = new Map([
  ...timingDependent,
  ['explicit-termination', 'two crashes may delay a branch by more than the delay of five minutes'],
]);
