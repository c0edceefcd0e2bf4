// Every folder of src/pages that has a page.ts is a page. Nothing else lists them.
import type { ComponentType } from 'preact';

export interface Page {
  /** Below /console, such as '/memories' or '/memories/:id'. */
  path: string;
  title: string;
  /** Its place in the navigation; a page without it is reached from other pages. */
  order?: number;
  /** The letter that opens it after `g`. */
  key?: string;
  /** The `d` of a path on 20 by 20, drawn with a line. */
  icon?: string;
  /** Left out for others, who could read nothing but an error on it. */
  isForAdmins?: boolean;
  /** Loaded when it is opened. The parameters of the path are its props. */
  load(): Promise<{ default: ComponentType<Record<string, string>> }>;
}

const modules = import.meta.glob<{ page: Page }>('../pages/*/page.ts', { eager: true });

export const pages: readonly Page[] = Object.values(modules)
  .map(({ page }) => page)
  .sort((a, b) => (a.order ?? 99) - (b.order ?? 99));
