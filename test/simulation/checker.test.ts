/** The checker compares the final log with the commits that it saw acknowledged. */
import { describe, expect, it } from 'vitest';
import type { RunAddress } from '../../lib/engine/ids.ts';
import type { Commit } from '../../lib/engine/log/commit.ts';
import { Checker } from './checker.ts';
import { noFaults } from './faults.ts';
import { simulate } from './simulation.ts';

const written: { readonly run: RunAddress; readonly commit: Commit }[] = [];
await simulate({ seed: 1, rates: noFaults, onCommit: (run, commit) => written.push({ run, commit }) });

/** @param kept what is left of a run's log in the end */
async function judged(kept: (log: readonly Commit[]) => readonly Commit[]): Promise<void> {
  const checker = new Checker();
  for (const { run, commit } of written) checker.committed(run, commit, commit.at);
  const logOf = ({ runId }: RunAddress): readonly Commit[] =>
    kept(written.filter(({ run }) => run.runId === runId).map(({ commit }) => commit));
  await checker.check({
    head: async (run) => {
      const [commit] = logOf(run);
      const status = checker.stateOf(run.runId)?.progress.status;
      return commit === undefined || status === undefined ? undefined : { projection: { status }, commit };
    },
    commitsAfter: async (run) => logOf(run).slice(1),
  });
}

describe('at the end, a log', () => {
  it('equals the acknowledged commits', () => expect(judged((log) => log)).resolves.toBeUndefined());

  it('has its last commit', () =>
    expect(judged((log) => (log.length > 2 ? log.slice(0, -1) : log))).rejects.toThrow('commits in its log'));

  it('has every commit unchanged', () => {
    const other = (commit: Commit): Commit => ({ ...commit, events: commit.events.slice(1) });
    return expect(judged((log) => log.map(other))).rejects.toThrow('was changed');
  });
});
