/** The bills of runs of the Workflow DevKit at each supported version, compared with the files of `bench/golden`. */
import { describe } from 'vitest';
import { rotatingItem } from '../tier.ts';
import { devkitVersions } from '../../bench/devkit/devkit-scenarios.ts';
import { countedDevKit } from './counted-devkit.ts';

describe.each(rotatingItem(Object.values(devkitVersions)))('workflow %s', (version) => {
  countedDevKit(version);
});
