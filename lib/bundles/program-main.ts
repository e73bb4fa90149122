/** Entry point of the thread that runs code workflows of a deployment. */
import { startWorkflowTask } from '../program/start-workflow-task.ts';
import { capturePrinted } from '../program/printed.ts';
import { serveWorkflowTasks } from './serve-workflow-tasks.ts';

void serveWorkflowTasks({ startWorkflowTask, capturePrinted });
