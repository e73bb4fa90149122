/** `stepwell/testing`: runs workflows in the test's own process, with virtual time, stubs, crashes and replays. */
export type { CrashTime } from './crash-injector.ts';
export { NondeterminismError, RunError, TestError, type TestErrorCode } from './errors.ts';
export type { HistoryDocument } from '../engine/durable/history-document.ts';
export { type ReplayResult, replay } from './replay.ts';
export type { StepCall } from './stubs.ts';
export type { StepRecord, TestRun } from './test-run.ts';
export { type TestSignal, type TestStartOptions, WorkflowTest, type WorkflowTestOptions } from './workflow-test.ts';
