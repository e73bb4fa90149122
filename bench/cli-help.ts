/** How long `stepwell --help` takes, beside a Node that does nothing: what the machine itself is slow at drops out. */
import { spawnSync } from 'node:child_process';
import { quantilesOf } from './quantiles.ts';
import { root } from './bench-cloud.ts';

const sampleCount = 15;

export interface HelpTimes {
  readonly helpMs: number;
  readonly bareMs: number;
}

function timed(args: readonly string[]): number {
  const startedAt = performance.now();
  const { status } = spawnSync(process.execPath, args, { cwd: root, stdio: 'ignore' });
  if (status !== 0) throw new Error(`node ${args.join(' ')} ended with ${status}`);
  return performance.now() - startedAt;
}

/** Medians, taken in turn, so that both see the same machine. */
export function measureHelp(): HelpTimes {
  const [help, bare]: [number[], number[]] = [[], []];
  // the first one fills the cache of compiled code
  timed(['bin/stepwell-cli.mjs', '--help']);
  for (let round = 0; round < sampleCount; round += 1) {
    bare.push(timed(['-e', '0']));
    help.push(timed(['bin/stepwell-cli.mjs', '--help']));
  }
  return { helpMs: quantilesOf(help).p50, bareMs: quantilesOf(bare).p50 };
}
