/**
 * The preset dictionary of stored JSON (RFC 1950, 2.2): text that most commits contain, the most frequent at the end. A commit of some KB has
 * about 200 bytes less with it, and a short one fits a write unit together with a head.
 *
 * It never changes: items that were written with it can only be read with it. The compressed bytes name it by its checksum, so another
 * dictionary could be added beside it.
 */
const nodeAt = '"nodeId":"","iteration":"","attempt":1,';
const times = '"startedAt":17,"endedAt":17,';

export const storedJsonDictionary: Uint8Array = Buffer.from(
  [
    '{"type":"CONTRACT_VIOLATED",',
    '"phase":"output","errors":[{"field":"","reason":"',
    '{"type":"MODERATION_FLAGGED",',
    '"tokensIn":0,"tokensOut":0,"model":"',
    '{"type":"ROLLBACK_STARTED","runOutcome":{"status":"cancelled","reason":"',
    '{"type":"DEADLINE_EXTENDED","deadlineAt":17',
    '{"type":"RUN_RECOVERED","nodes":["',
    '{"type":"RUN_RESUMED","reason":"","payload":{"value":',
    '{"type":"RUN_RETRIED","attempt":1,"failure":{"cause":"',
    '{"type":"SLOT_AWAITED","slots":1},{"type":"SLOT_TAKEN","slot":0},',
    '{"type":"RUN_TIMED_OUT","error":{"cause":"deadline","message":"',
    '{"type":"RUN_STATUS_CHANGED","status":"cancelled"},{"type":"RUN_CANCELLED","reason":"',
    '{"type":"DEVKIT","event":"step_completed","correlationId":"step_","specVersion":2,"occurredAt":17,"data":{"',
    '"event":"hook_received","event":"step_started","event":"step_created","event":"wait_created","event":"run_created"',
    `{"type":"SUBFLOW_CALLED",${nodeAt}"childRunId":"wrun_","workflowName":"","version":1,"input":{"value":{"`,
    '"parentClosePolicy":"cancel","onChildCancelled":"fail"},',
    `{"type":"SIGNAL_AWAITED",${nodeAt}"name":"","correlation":"","expiresAt":17,"expiryHandle":"`,
    `{"type":"SIGNAL_RECEIVED",${nodeAt}"signalId":"sig_","name":"","correlation":"`,
    `{"type":"SLEEP_STARTED",${nodeAt}"wakeAt":17,"output":{"value":null}},{"type":"NODE_WOKEN",`,
    `{"type":"LOOP_STARTED",${nodeAt}"items":1,"pages":[{"value":[`,
    '"pageSize":100,"itemVariable":"item","indexVariable":"index","concurrency":1,"delayMs":0,"onItemFailure":"continue"},',
    `{"type":"LOOP_RESULTS_STORED",${nodeAt}"results":{"ref":"blob:`,
    `{"type":"ITERATION_STARTED",${nodeAt}"index":0,"item":{"value":`,
    `{"type":"ITERATION_ENDED",${nodeAt}"index":0,"status":"completed","from":"","result":{"value":{"`,
    '{"type":"NODE_SKIPPED","nodeId":"","iteration":"","reason":"branch_not_taken"},',
    `{"type":"NODE_RETRIED",${nodeAt}${times}"failure":{"cause":"timeout","message":"","code":"","details":{"`,
    '"delayMs":1000,"retryAt":17,"via":"queue","printed":["',
    `{"type":"NODE_FAILED",${nodeAt}${times}"failure":{"cause":"error","message":"","handle":"error","variable":"`,
    '{"type":"RUN_STATUS_CHANGED","status":"failed"},{"type":"RUN_FAILED","error":{"cause":"error","message":"',
    '{"type":"SYSTEM_SET","key":"__scheduleId","value":{"value":"',
    '"output":{"ref":"blob:","bytes":1',
    `{"type":"NODE_DISPATCHED",${nodeAt}"via":"queue","wave":0,"step":{"kind":"function","key":"","retry":{"maximumAttempts":3},"hasRollback":true}},`,
    `{"type":"NODE_COMPLETED",${nodeAt}"output":{"value":{"`,
    `"handle":null,${times.slice(0, -1)}},`,
    `{"type":"NODE_DISPATCHED",${nodeAt}"via":"inline","wave":0,"step":{"kind":"function","key":"`,
    '{"type":"NODE_DISPATCHED","nodeId":".workflow-task.1","iteration":"","attempt":1,"via":"queue","wave":0,"step":{"kind":"workflow_task","key":"1"}}]',
    `[{"type":"INPUT_SET","input":{"value":{}}},{"type":"RUN_STARTED"},{"type":"NODE_DISPATCHED",${nodeAt}"via":"queue","wave":0}]`,
    `[{"type":"RUN_STATUS_CHANGED","status":"running"},{"type":"NODE_COMPLETED",${nodeAt}${times}"output":{"value":"`,
    `"handle":"output","variable":"jsResult"},{"type":"NODE_DISPATCHED",${nodeAt}"via":"inline","wave":1},`,
    `{"type":"NODE_STARTED",${nodeAt}"startedAt":17},`,
    '{"type":"RUN_STATUS_CHANGED","status":"completed"},{"type":"RUN_COMPLETED","output":{"value":null}}]',
  ].join(''),
);
