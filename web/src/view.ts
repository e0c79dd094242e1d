// view.ts - what every view is.
import type { Model } from "./data";

export interface View {
  readonly el: HTMLElement;
  show(model: Model): Promise<void>;
  changed(keys: Set<string>): void;
}
