"""The tools of `callboard.demo`, under the name by which toolkits are found."""

from callboard.demo.tools import demo_tools as demo_tools
from callboard.demo.tools import tools as tools
