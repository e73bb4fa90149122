/** Counts the runs of the Workflow DevKit at every version. */
import { join } from 'node:path';
import type { BenchCloud } from '../bench-cloud.ts';
import type { Bill } from '../bill.ts';
import { type Scenario, count } from '../scenarios.ts';
import { devkitVersions, scenariosOf } from './devkit-scenarios.ts';
import { buildMeasuredApp } from './measured-app.ts';

type CountedScenario = Scenario & { readonly bill: Bill };

/** @throws if a version cannot be installed */
export async function countDevKit(bench: BenchCloud, directory: string): Promise<readonly CountedScenario[]> {
  const counted: CountedScenario[] = [];
  for (const version of Object.values(devkitVersions)) {
    const app = await buildMeasuredApp(join(directory, `devkit-${version}`), version);
    for (const scenario of scenariosOf(app)) counted.push({ ...scenario, bill: await count(bench, scenario) });
  }
  return counted;
}
