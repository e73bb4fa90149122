import { test } from 'vitest';
import { devKitScenarios } from './devkit-scenarios.ts';

test.each(Object.entries(devKitScenarios))('%s', (_name, play) => play());
