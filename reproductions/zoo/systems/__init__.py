"""Every system of the zoo, each as small as it can be and each with one difficulty."""

from system import System

from .acrobot import Acrobot
from .battery import Battery
from .bouncing_ball import BouncingBall
from .cartpole import CartPole
from .fork import Fork
from .frozen_lake import FrozenLake
from .glucose import Glucose
from .gusty_cliff import GustyCliff
from .heated_room import HeatedRoom
from .icu_sepsis import IcuSepsis
from .inventory import Inventory
from .linear_gaussian import LinearGaussian
from .mountain_car import MountainCar
from .pendulum import Pendulum
from .point_safety import PointSafety
from .queue_admission import QueueAdmission
from .rare_failure import RareFailure
from .reactor import Reactor

SYSTEMS: dict[str, System] = {
    system.name: system
    for system in [
        LinearGaussian(),
        Pendulum(),
        PointSafety(),
        CartPole(),
        MountainCar(),
        Acrobot(),
        Battery(),
        HeatedRoom(),
        Inventory(),
        QueueAdmission(),
        GustyCliff(),
        Fork(),
        BouncingBall(),
        Glucose(),
        Reactor(),
        IcuSepsis(),
        RareFailure(),
        FrozenLake(),
    ]
}
