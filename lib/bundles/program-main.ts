/** The inside of the thread of a deployment of code. */
import { beginDrive } from '../program/begin-drive.ts';
import { notePrinted } from '../program/printed.ts';
import { serveDrives } from './serve-drives.ts';

void serveDrives({ beginDrive, notePrinted });
