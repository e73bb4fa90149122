/** `stepwell`: the whole of it as a construct, for an application of one's own. */
export { Stepwell, type StepwellProps } from './stepwell.ts';
export type { IStepwell, RunEndedOptions, StepwellAttributes } from './installation.ts';
export type { TriggerQueues } from './trigger-queues.ts';
export type { StartOnOptions, StartSource } from './triggers.ts';
export { Storage, type StorageProps } from './storage.ts';
export { smallAccount } from '../contract/concurrency.ts';
