/** The allowed ranges of the numeric settings. */
import type { Range } from './ranges.ts';
import type { StepwellProps } from './stepwell.ts';

export function rangesOf(props: StepwellProps): readonly Range[] {
  return [
    { name: 'idempotencyHours', value: props.idempotencyHours, from: 1, to: 168 },
    { name: 'workerTimeoutSeconds', value: props.workerTimeoutSeconds, from: 30, to: 900 },
    { name: 'codeTimeoutSeconds', value: props.codeTimeoutSeconds, from: 30, to: 900 },
    { name: 'codeConcurrency', value: props.codeConcurrency, from: 2, to: 1_000 },
    { name: 'nodeConcurrency', value: props.nodeConcurrency, from: 2, to: 1_000 },
    { name: 'maxProjectShare', value: props.maxProjectShare, from: 1, to: 100 },
    { name: 'resultConcurrency', value: props.resultConcurrency, from: 2, to: 1_000 },
    { name: 'watchers', value: props.watchers === 'uncapped' ? undefined : props.watchers, from: 1, to: 1_000 },
    { name: 'watchedRuns', value: props.watchedRuns, from: 2, to: 1_000 },
    { name: 'requestsPerSecond', value: props.requestsPerSecond, from: 1, to: 10_000 },
    { name: 'requestBurst', value: props.requestBurst, from: 1, to: 5_000 },
    ...Object.entries(props.memoryMb ?? {}).map(([name, value]) => ({
      name: `memoryMb of ${name}`,
      value,
      from: 128,
      to: 10_240,
    })),
  ];
}
