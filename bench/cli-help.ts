/** Duration of `stepwell --help` compared with an empty Node process, to exclude the machine's own speed. */
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

/** Medians of alternating measurements, so that both see the same load. */
export function measureHelp(): HelpTimes {
  const [help, bare]: [number[], number[]] = [[], []];
  // The first run fills the compile cache.
  timed(['bin/stepwell-cli.mjs', '--help']);
  for (let round = 0; round < sampleCount; round += 1) {
    bare.push(timed(['-e', '0']));
    help.push(timed(['bin/stepwell-cli.mjs', '--help']));
  }
  return { helpMs: quantilesOf(help).p50, bareMs: quantilesOf(bare).p50 };
}
