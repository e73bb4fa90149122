/**
 * Collects the garbage of a thread that has become idle. V8 collects when a heap grows, so a thread without work keeps what its last
 * work allocated: up to 48 MB of new objects alone, and a thread of a function has hundreds of megabytes before it must collect.
 */
import { Session } from 'node:inspector/promises';
import { getHeapStatistics } from 'node:v8';

/** Longer than the pauses of a run that works, and shorter than the life of an idle thread. */
const pauseMs = 5_000;
/** A heap that has grown by less since its last collection is left alone: a sweep each minute would cost one each minute. */
const minGrowthBytes = 4 * 1024 * 1024;

/** A full collection, after which V8 returns its free pages. `global.gc` would need a flag of the process. */
async function collectGarbage(): Promise<void> {
  const session = new Session();
  session.connect();
  try {
    await session.post('HeapProfiler.collectGarbage');
  } finally {
    session.disconnect();
  }
}

export interface IdleCollection {
  /** The thread works now: the pause begins again. */
  onWork(): void;
  stop(): void;
}

interface CollectionParts {
  readonly pauseMs: number;
  readonly heapBytes: () => number;
  readonly collect: () => Promise<void>;
}

const ofThisThread: CollectionParts = { pauseMs, heapBytes: () => getHeapStatistics().total_heap_size, collect: collectGarbage };

/** Collects after each pause of the work, if the heap has grown. */
export function startIdleCollection(parts: Partial<CollectionParts> = {}): IdleCollection {
  const { pauseMs: delayMs, heapBytes, collect } = { ...ofThisThread, ...parts };
  let collectedBytes = 0;
  const timer = setTimeout(() => {
    if (heapBytes() - collectedBytes < minGrowthBytes) return;
    // Where no inspector can be opened, the memory stays as it is.
    void collect().then(
      () => void (collectedBytes = heapBytes()),
      () => undefined,
    );
  }, delayMs).unref();
  let isStopped = false;
  return {
    onWork: () => void (isStopped || timer.refresh()),
    stop() {
      isStopped = true;
      clearTimeout(timer);
    },
  };
}
