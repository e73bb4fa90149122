/** The bills of runs of the Workflow DevKit at versions from the registry, compared with the files of `bench/golden`. */
import { describe } from 'vitest';
import { devkitVersions } from '../../bench/devkit/devkit-scenarios.ts';
import { countedDevKit } from './counted-devkit.ts';

describe.each([devkitVersions.stable, devkitVersions.newest])('workflow %s', (version) => {
  countedDevKit(version);
});
